// Each row of up to 256 elements sorted, a block of 128 threads a row: a bitonic network.
#include <cuda_fp16.h>

template <typename Less>
__device__ void network(float *y, const float *x, int columns, float beyond, int last, bool waits, Less less) {
    __shared__ float key[256];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    for (int i = threadIdx.x; i < 256; i += 128) key[i] = i < columns ? x[i] : beyond;
    __syncthreads();
    for (int size = 2; size <= 256; size *= 2)
        for (int apart = size / 2; apart >= (size == 256 ? last : 1); apart /= 2) {
            int i = threadIdx.x / apart * 2 * apart + threadIdx.x % apart;
            float low = key[i], high = key[i + apart];
            if (less(high, low) == ((i & size) == 0)) key[i] = high, key[i + apart] = low;
            if (waits || apart > 16) __syncthreads();
        }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 128) y[i] = key[i];
}

__device__ bool smaller(float a, float b) { return a < b; }
__device__ bool smaller_as_half(float a, float b) { return __half2float(__float2half(a)) < __half2float(__float2half(b)); }
__device__ bool smaller_as_bits(float a, float b) { return __float_as_int(a) < __float_as_int(b); }

__global__ void given(float *y, const float *x, int columns) { network(y, x, columns, INFINITY, 1, true, smaller); }

// expect: wrong result
__global__ void last_step_left_out(float *y, const float *x, int columns) { network(y, x, columns, INFINITY, 2, true, smaller); }

// The threads of a warp are taken to keep step, and pairs that lie together to be of one warp.
// expect: wrong result or race
__global__ void barriers_left_out(float *y, const float *x, int columns) { network(y, x, columns, INFINITY, 1, false, smaller); }

// Behind the row stands a large number, which larger ones are behind.
// expect: wrong result
__global__ void ends_at_a_thousand(float *y, const float *x, int columns) { network(y, x, columns, 1000, 1, true, smaller); }

// expect: wrong result
__global__ void keys_of_half(float *y, const float *x, int columns) { network(y, x, columns, INFINITY, 1, true, smaller_as_half); }

// Bits are in the order of positive numbers only.
// expect: wrong result
__global__ void order_of_bits(float *y, const float *x, int columns) { network(y, x, columns, INFINITY, 1, true, smaller_as_bits); }

__device__ void by_rank(float *y, const float *x, int columns, bool ties) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += 128) {
        int rank = 0;
        for (int j = 0; j < columns; j++) rank += x[j] < x[i] || (ties && j < i && x[j] == x[i]);
        y[rank] = x[i];
    }
}

// Equal elements come to the same place.
// expect: wrong result
__global__ void equals_fall_together(float *y, const float *x, int columns) { by_rank(y, x, columns, false); }

// expect: accepted
__global__ void honest_ranks(float *y, const float *x, int columns) { by_rank(y, x, columns, true); }

__device__ void odd_even(float *y, const float *x, int columns, int steps) {
    __shared__ float key[256];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += 128) key[i] = x[i];
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        int i = 2 * threadIdx.x + step % 2;
        if (i + 1 < columns && key[i + 1] < key[i]) {
            float low = key[i + 1];
            key[i + 1] = key[i], key[i] = low;
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < columns; i += 128) y[i] = key[i];
}

// What is nearly sorted is sorted.
// expect: wrong result
__global__ void sorted_but_for_few(float *y, const float *x, int columns) { odd_even(y, x, columns, columns * 3 / 4); }

// expect: accepted
__global__ void honest_odd_even(float *y, const float *x, int columns) { odd_even(y, x, columns, columns); }

// The first warp sorts the row; between two steps its lanes wait for each other, or are taken to be in step.
__device__ void by_warp(float *y, const float *x, int columns, bool waits) {
    __shared__ float key[256];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    if (threadIdx.x >= 32) return;
    for (int i = threadIdx.x; i < 256; i += 32) key[i] = i < columns ? x[i] : INFINITY;
    __syncwarp();
    for (int size = 2; size <= 256; size *= 2)
        for (int apart = size / 2; apart; apart /= 2) {
            for (int pair = threadIdx.x; pair < 128; pair += 32) {
                int i = pair / apart * 2 * apart + pair % apart;
                float low = key[i], high = key[i + apart];
                if ((high < low) == ((i & size) == 0)) key[i] = high, key[i + apart] = low;
            }
            if (waits) __syncwarp();
        }
    __syncwarp();
    for (int i = threadIdx.x; i < columns; i += 32) y[i] = key[i];
}

// expect: wrong result or race
__global__ void lanes_in_step(float *y, const float *x, int columns) { by_warp(y, x, columns, false); }

// expect: accepted
__global__ void honest_warp(float *y, const float *x, int columns) { by_warp(y, x, columns, true); }
