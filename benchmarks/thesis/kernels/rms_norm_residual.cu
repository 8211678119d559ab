// residual += x, and y = residual over its root mean square, times weight; as before each layer of a transformer.
// The sum is rounded to half precision before it is squared. One row a thread.

#include <cuda_fp16.h>

__global__ void rms_norm_residual(const half *x, const half *weight, half *residual, half *y, int rows, int columns,
                                  float epsilon)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const half *from = x + (size_t)row * columns;
        half *kept = residual + (size_t)row * columns;
        half *to = y + (size_t)row * columns;
        float squares = 0.0f;
        for (int i = 0; i < columns; i++) {
            half sum = __float2half(__half2float(from[i]) + __half2float(kept[i]));
            kept[i] = sum;
            squares += __half2float(sum) * __half2float(sum);
        }
        float scale = 1.0f / sqrtf(squares / columns + epsilon);
        for (int i = 0; i < columns; i++) {
            to[i] = __float2half(__half2float(kept[i]) * scale * __half2float(weight[i]));
        }
    }
}
