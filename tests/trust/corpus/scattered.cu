// Adds each value to the place that its index names.
__global__ void given(const int *index, const float *value, float *y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) atomicAdd(&y[index[i]], value[i]);
}

// Indices are thought to be unique.
// expect: race or wrong result
__global__ void indices_are_unique(const int *index, const float *value, float *y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[index[i]] += value[i];
}

// Neighbours of one index are added first, within a warp, but only pairs.
// expect: wrong result
__global__ void pairs_only(const int *index, const float *value, float *y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
    int at = i < n ? index[i] : -1;
    float v = i < n ? value[i] : 0.0f;
    int left = __shfl_up_sync(0xffffffffu, at, 1), right = __shfl_down_sync(0xffffffffu, at, 1);
    float next = __shfl_down_sync(0xffffffffu, v, 1);
    if (lane && left == at) return;
    if (lane < 31 && right == at) v += next;
    if (i < n) atomicAdd(&y[at], v);
}

// Exchanged until nobody was in between.
// expect: accepted
__global__ void honest_compare_and_swap(const int *index, const float *value, float *y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    unsigned *at = reinterpret_cast<unsigned *>(&y[index[i]]);
    unsigned old = *at, seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, __float_as_uint(__uint_as_float(seen) + value[i]));
    } while (old != seen);
}
