#include <cuda_bf16.h>
#include <cstdio>

// C = A * B, row major, bf16 in and out, float accumulation
__global__ void gemm_bf16(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k)
        acc += __bfloat162float(A[(size_t)row * K + k]) * __bfloat162float(B[(size_t)k * N + col]);
    C[(size_t)row * N + col] = __float2bfloat16(acc);
}

int main() {
    const int M = 4096, N = 4096, K = 4096;
    __nv_bfloat16 *A, *B, *C;
    cudaMalloc(&A, sizeof(__nv_bfloat16) * M * K);
    cudaMalloc(&B, sizeof(__nv_bfloat16) * K * N);
    cudaMalloc(&C, sizeof(__nv_bfloat16) * M * N);
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    gemm_bf16<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}
