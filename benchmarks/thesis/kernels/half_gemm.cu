// C = A * B in half precision with sums in single precision, all row-major: A has m rows of k elements, B k rows of n.
// One element of C a thread.

#include <cuda_fp16.h>

__global__ void half_gemm(const half *A, const half *B, half *C, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++) {
            sum += __half2float(A[row * k + i]) * __half2float(B[i * n + column]);
        }
        C[row * n + column] = __float2half(sum);
    }
}
