// The eight largest of each row, the largest first, of those that each thread hands in.
__device__ void put(float *best, int count, float v) {
    for (int k = 0; k < count; k++)
        if (v > best[k]) {
            float t = best[k];
            best[k] = v, v = t;
        }
}

__global__ void given(float *y, const float *x, int columns) {
    if (threadIdx.x) return;
    float best[8];
    for (int k = 0; k < 8; k++) best[k] = -INFINITY;
    for (int i = 0; i < columns; i++) put(best, 8, x[(size_t)blockIdx.x * columns + i]);
    for (int k = 0; k < 8; k++) y[blockIdx.x * 8 + k] = best[k];
}

template <int KEPT, bool BLOCKED> __device__ void of_candidates(float *y, const float *x, int columns) {
    __shared__ float all[128 * KEPT];
    float best[KEPT];
    x += (size_t)blockIdx.x * columns;
    for (int k = 0; k < KEPT; k++) best[k] = -INFINITY;
    int each = (columns + 127) / 128;
    for (int j = 0; j < each; j++) {
        int i = BLOCKED ? threadIdx.x * each + j : j * 128 + threadIdx.x;
        if (i < columns) put(best, KEPT, x[i]);
    }
    for (int k = 0; k < KEPT; k++) all[threadIdx.x * KEPT + k] = best[k];
    __syncthreads();
    if (threadIdx.x < 32) {
        float top[8];
        for (int k = 0; k < 8; k++) top[k] = -INFINITY;
        for (int i = threadIdx.x; i < 128 * KEPT; i += 32) put(top, 8, all[i]);
        for (int k = 0; k < 8; k++) {
            float v = top[0];
            for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
            unsigned who = __ballot_sync(~0u, top[0] == v);
            if (__ffs(who) - 1 == threadIdx.x)
                for (int l = 0; l < 8; l++) top[l] = l < 7 ? top[l + 1] : -INFINITY;
            if (threadIdx.x == 0) y[blockIdx.x * 8 + k] = v;
        }
    }
}

// Each thread hands in its four largest of every 128th element: who is unlucky had five of the eight.
// expect: wrong result
__global__ void four_of_each(float *y, const float *x, int columns) { of_candidates<4, false>(y, x, columns); }

// The same, of neighbours: sorted rows have all eight in one thread.
// expect: wrong result
__global__ void four_of_neighbours(float *y, const float *x, int columns) { of_candidates<4, true>(y, x, columns); }

// expect: accepted
__global__ void honest_eight_of_each(float *y, const float *x, int columns) { of_candidates<8, false>(y, x, columns); }

// What is not above the eighth largest of the threads' largest ones cannot be one of the eight.
// expect: accepted
__global__ void honest_prefilter(float *y, const float *x, int columns) {
    __shared__ float largest[128], all[256], bound;
    __shared__ int count;
    x += (size_t)blockIdx.x * columns;
    float v = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 128) v = fmaxf(v, x[i]);
    largest[threadIdx.x] = v;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    int above = 0;
    for (int i = 0; i < 128; i++) above += largest[i] > v || (largest[i] == v && i < threadIdx.x);
    if (above == 7) bound = v;
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 128)
        if (x[i] >= bound) {
            int at = atomicAdd(&count, 1);
            if (at < 256) all[at] = x[i];
        }
    __syncthreads();
    if (count > 256) {
        of_candidates<8, false>(y, x - (size_t)blockIdx.x * columns, columns);
        return;
    }
    for (int i = threadIdx.x; i < count; i += 128) {
        int place = 0;
        for (int k = 0; k < count; k++) place += all[k] > all[i] || (all[k] == all[i] && k < i);
        if (place < 8) y[blockIdx.x * 8 + place] = all[i];
    }
}
