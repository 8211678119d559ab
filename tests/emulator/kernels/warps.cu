#include <cuda_fp16.h>

#define ALL 0xffffffffu

__global__ void shuffles(int* out, int width) {
    int t = threadIdx.x, value = t * 3;
    int* row = out + t * 4;
    row[0] = __shfl_sync(ALL, value, 5, width);
    row[1] = __shfl_up_sync(ALL, value, 3, width);
    row[2] = __shfl_down_sync(ALL, value, 3, width);
    row[3] = __shfl_xor_sync(ALL, value, 6, width);
}

__global__ void wide_shuffles(double* d, long long* l, half* h, float* f) {
    int t = threadIdx.x;
    d[t] = __shfl_xor_sync(ALL, t + 0.5, 1);
    l[t] = __shfl_down_sync(ALL, (1ll << 40) + t, 2);
    h[t] = __shfl_up_sync(ALL, __float2half(t * 0.25f), 1);
    f[t] = __shfl_sync(ALL, t * 1.5f, 31 - t);
}

__global__ void warp_sums(float* out, const float* in) {
    float sum = in[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(ALL, sum, offset);
    __shared__ float sums[32];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(ALL, sum, offset);
        if (threadIdx.x == 0) *out = sum;
    }
}

__global__ void votes(unsigned* out) {
    int t = threadIdx.x;
    unsigned* row = out + t * 9;
    row[0] = __ballot_sync(ALL, t % 3 == 0);
    row[1] = __any_sync(ALL, t == 9);
    row[2] = __all_sync(ALL, t < 32);
    row[3] = __reduce_add_sync(ALL, (unsigned)t);
    row[4] = (unsigned)__reduce_min_sync(ALL, 5 - t);
    row[5] = __reduce_max_sync(ALL, (unsigned)t);
    row[6] = __match_any_sync(ALL, t / 8);
    row[7] = __reduce_xor_sync(ALL, 1u << t);
    __syncwarp();
    row[8] = __all_sync(ALL, t != 3);
}

// Halves of a warp work apart, with masks of their own.
__global__ void halves(int* out) {
    int t = threadIdx.x;
    if (t < 16) out[t] = __shfl_xor_sync(0x0000ffffu, t, 1);
    else out[t] = __shfl_xor_sync(0xffff0000u, t * 100, 1);
}

// Lanes that have exited do not hold the others up.
__global__ void exited(int* out) {
    if (threadIdx.x >= 20) return;
    out[threadIdx.x] = __ballot_sync(ALL, 1);
}

__global__ void active(unsigned* out) {
    out[threadIdx.x] = threadIdx.x < 10 ? __activemask() : 0;
    out[threadIdx.x + 32] = __activemask();
}

__global__ void alone(int* out) {
    if (threadIdx.x == 0) out[0] = __shfl_sync(ALL, 1, 0);
    else __syncthreads();
}

__global__ void left_out(int* out) { out[threadIdx.x] = __shfl_sync(0x1u, 1, 0); }
