#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#ifndef TILE
#define TILE 16
#endif

__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};
__device__ int launches;

template <typename T, int tile>
__global__ void __launch_bounds__(tile * tile) matmul(T* __restrict__ C, const T* __restrict__ A, const T* __restrict__ B, int n) {
    __shared__ T a[tile][tile], b[tile][tile];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    T sum = 0;
    for (int t = 0; t < n; t += tile) {
        a[threadIdx.y][threadIdx.x] = A[y * n + t + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + x];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < tile; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[y * n + x] = sum;
}

extern "C" __global__ void geometry(int* out) {
    int blocks = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[blocks * blockDim.x * blockDim.y * blockDim.z + thread] =
        blocks * 10000 + threadIdx.z * 1000 + threadIdx.y * 100 + threadIdx.x;
}

// Threads beyond n leave before the barriers; the others still meet there.
__global__ void block_sum(float* out, const float* in, int n) {
    extern __shared__ __align__(16) float partial[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int here = min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x));
    partial[threadIdx.x] = in[i];
    for (int stride = 512; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride && threadIdx.x + stride < here) partial[threadIdx.x] += partial[threadIdx.x + stride];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// Each half of the block reaches its barrier in another branch.
__global__ void divergent(int* out) {
    __shared__ int values[64];
    values[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 32) {
        __syncthreads();
        out[threadIdx.x] = values[63 - threadIdx.x];
    } else {
        __syncthreads();
        out[threadIdx.x] = values[63 - threadIdx.x] * 10;
    }
}

__global__ void barrier_votes(int* out) {
    int odd = threadIdx.x & 1;
    out[threadIdx.x * 3] = __syncthreads_count(odd);
    out[threadIdx.x * 3 + 1] = __syncthreads_and(threadIdx.x >= 0);
    out[threadIdx.x * 3 + 2] = __syncthreads_or(threadIdx.x == 7);
}

__global__ void histogram(unsigned* bins, const int* values, int n) {
    __shared__ unsigned local[8];
    if (threadIdx.x < 8) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[values[i]], 1);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(bins + threadIdx.x, local[threadIdx.x]);
}

__global__ void smooth(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) atomicAdd(&launches, 1);
    if (i > 0 && i < n - 1) out[i] = weights[0] * in[i - 1] + weights[1] * in[i] + weights[2] * __ldg(in + i + 1);
    else if (i < n) out[i] = launches;
}

// Reads shared memory that only the block before has written.
__global__ void stale(float* out) {
    extern __shared__ float dynamic_values[];
    __shared__ float static_values[32];
    out[(blockIdx.x * 32 + threadIdx.x) * 2] = static_values[threadIdx.x];
    out[(blockIdx.x * 32 + threadIdx.x) * 2 + 1] = dynamic_values[threadIdx.x];
    static_values[threadIdx.x] = dynamic_values[threadIdx.x] = 1.0f;
}

// Misses the barrier between writing and reading.
__global__ void unsynchronised(int* out) {
    __shared__ int value;
    if (threadIdx.x == 0) value = 5;
    out[threadIdx.x] = value;
}

__global__ void big_locals(float* out) {
    volatile float scratch[40000];
    for (int i = 0; i < 40000; i += 100) scratch[i] = threadIdx.x + i;
    __syncthreads();
    out[threadIdx.x] = scratch[threadIdx.x * 10 / 100 * 100];
}

__global__ void lock(int* out) {
    __shared__ int mutex, turn;
    if (threadIdx.x == 0) mutex = turn = 0;
    __syncthreads();
    while (atomicCAS(&turn, threadIdx.x, threadIdx.x) != threadIdx.x) {}
    out[threadIdx.x] = turn;
    atomicAdd(&turn, 1);
}
