// C = A * transpose(B), as in a quantised linear layer: A has m rows, B n rows of k integers of 8 bits, each row with a
// scale of its own. The sum is exact. One element of C a thread.

#include <cuda_fp16.h>

__global__ void int8_gemm(const signed char *A, const signed char *B, const float *row_scales,
                          const float *column_scales, half *C, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        int sum = 0;
        for (int i = 0; i < k; i++) {
            sum += A[row * k + i] * B[column * k + i];
        }
        C[row * n + column] = __float2half(sum * row_scales[row] * column_scales[column]);
    }
}
