#include <cuda_bf16.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void rms_norm(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ w,
                         __nv_bfloat16* __restrict__ y, int cols, float eps) {
    __shared__ float partial[32];
    const int row = blockIdx.x;
    float sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = __bfloat162float(x[(size_t)row * cols + c]);
        sum += v * v;
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0.f;
    if (threadIdx.x < 32) {
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
        if (threadIdx.x == 0) partial[0] = sum;
    }
    __syncthreads();
    const float scale = rsqrtf(partial[0] / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = __bfloat162float(x[(size_t)row * cols + c]) * scale;
        y[(size_t)row * cols + c] = __float2bfloat16(v * __bfloat162float(w[c]));
    }
}

int main() {
    const int rows = 16384, cols = 4096;
    __nv_bfloat16 *x, *w, *y;
    cudaMalloc(&x, sizeof(__nv_bfloat16) * rows * cols);
    cudaMalloc(&w, sizeof(__nv_bfloat16) * cols);
    cudaMalloc(&y, sizeof(__nv_bfloat16) * rows * cols);
    rms_norm<<<rows, 256>>>(x, w, y, cols, 1e-5f);
    cudaDeviceSynchronize();
    return 0;
}
