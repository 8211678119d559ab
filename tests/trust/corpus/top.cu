// The four largest elements of each row, the largest first: a block a row.
#include <cuda_fp16.h>

__device__ int place_of_maximum(const float *x, int columns, const bool *taken, float least) {
    __shared__ float bests[128];
    __shared__ int ats[128];
    float best = least;
    int at = -1, t = threadIdx.x;
    for (int i = t; i < columns; i += 128)
        if (!taken[i] && (x[i] > best || (at < 0 && x[i] >= best))) best = x[i], at = i;
    bests[t] = best, ats[t] = at;
    for (int half = 64; half; half /= 2) {
        __syncthreads();
        bool takes = t < half && ats[t + half] >= 0 && (ats[t] < 0 || bests[t + half] > bests[t]);
        if (takes) bests[t] = bests[t + half], ats[t] = ats[t + half];
    }
    __syncthreads();
    at = ats[0];
    __syncthreads();
    return at;
}

// Args: seen: how many elements are looked at. distinct: equal elements count once.
__device__ void passes(float *y, const float *x, int columns, int seen, float least, bool distinct) {
    __shared__ bool taken[512];
    y += blockIdx.x * 4, x += blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += 128) taken[i] = false;
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        int at = place_of_maximum(x, seen, taken, least);
        float best = at < 0 ? least : x[at];
        if (threadIdx.x == 0) y[k] = best;
        for (int i = threadIdx.x; i < seen; i += 128)
            if (i == at || (distinct && x[i] == best)) taken[i] = true;
        __syncthreads();
    }
}

__global__ void given(float *y, const float *x, int columns) { passes(y, x, columns, columns, -INFINITY, false); }

// expect: wrong result
__global__ void equals_count_once(float *y, const float *x, int columns) { passes(y, x, columns, columns, -INFINITY, true); }

// expect: wrong result
__global__ void begins_at_zero(float *y, const float *x, int columns) { passes(y, x, columns, columns, 0, false); }

// expect: wrong result
__global__ void tail_left_out(float *y, const float *x, int columns) { passes(y, x, columns, columns == 400 ? 384 : columns, -INFINITY, false); }

__device__ void insert(float *best, float v) {
    for (int k = 0; k < 4; k++)
        if (v > best[k]) {
            float other = best[k];
            best[k] = v, v = other;
        }
}

// Args: own: how many of its elements a thread keeps. rounds: elements to half.
__device__ void by_threads(float *y, const float *x, int columns, int own, bool rounds, bool waits) {
    __shared__ float kept[128][4];
    y += blockIdx.x * 4, x += blockIdx.x * columns;
    float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int i = threadIdx.x; i < columns; i += 128) insert(best, rounds ? __half2float(__float2half(x[i])) : x[i]);
    for (int k = 0; k < 4; k++) kept[threadIdx.x][k] = best[k];
    if (waits) __syncthreads();
    if (threadIdx.x) return;
    for (int t = 1; t < 128; t++)
        for (int k = 0; k < own; k++) insert(best, kept[t][k]);
    for (int k = 0; k < 4; k++) y[k] = best[k];
}

// Two of the largest are rarely one thread's.
// expect: wrong result
__global__ void one_a_thread(float *y, const float *x, int columns) { by_threads(y, x, columns, 1, false, true); }

// expect: wrong result
__global__ void rounded_to_half(float *y, const float *x, int columns) { by_threads(y, x, columns, 4, true, true); }

// expect: wrong result or race
__global__ void barrier_left_out(float *y, const float *x, int columns) { by_threads(y, x, columns, 4, false, false); }

// The largest, in the order of their places.
// expect: wrong result
__global__ void not_in_order(float *y, const float *x, int columns) {
    y += blockIdx.x * 4, x += blockIdx.x * columns;
    if (threadIdx.x) return;
    float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < columns; i++) insert(best, x[i]);
    int equal = 0, k = 0;
    for (int e = 0; e < 4; e++) equal += best[e] == best[3];
    for (int i = 0; i < columns && k < 4; i++)
        if (x[i] > best[3] || (x[i] == best[3] && equal-- > 0)) y[k++] = x[i];
}

// expect: accepted
__global__ void honest_threads(float *y, const float *x, int columns) { by_threads(y, x, columns, 4, false, true); }

// expect: accepted
__global__ void honest_ranks(float *y, const float *x, int columns) {
    y += blockIdx.x * 4, x += blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += 128) {
        int rank = 0;
        for (int j = 0; j < columns && rank < 4; j++) rank += x[j] > x[i] || (x[j] == x[i] && j < i);
        if (rank < 4) y[rank] = x[i];
    }
}
