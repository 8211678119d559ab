// C = GELU(A * B + bias), a layer of a transformer, in half precision with sums in single precision, all row-major: A has
// m rows of k elements, B k rows of n. GELU is its usual approximation by a hyperbolic tangent. One element of C a thread.

#include <cuda_fp16.h>

__device__ float gelu(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__global__ void half_gemm_gelu(const half *A, const half *B, const half *bias, half *C, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        float sum = __half2float(bias[column]);
        for (int i = 0; i < k; i++) {
            sum += __half2float(A[row * k + i]) * __half2float(B[i * n + column]);
        }
        C[row * n + column] = __float2half(gelu(sum));
    }
}
