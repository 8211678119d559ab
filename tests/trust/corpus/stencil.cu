// The mean of each element and its two neighbours, which the ends have only one of. The kernel as given is the reference.
__device__ float mean(const float *x, int i, int n) {
    return (x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)]) / 3.0f;
}

#define PLACE int i = blockIdx.x * 128 + threadIdx.x

__global__ void given(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = mean(x, i, n);
}

// expect: wrong result
__global__ void edges_between_blocks(float *y, const float *x, int n) {
    __shared__ float own[128];
    PLACE;
    if (i < n) own[threadIdx.x] = x[i];
    __syncthreads();
    int last = min(127, n - 1 - (int)blockIdx.x * 128), t = threadIdx.x;
    if (i < n) y[i] = (own[max(t - 1, 0)] + own[t] + own[min(t + 1, last)]) / 3.0f;
}

__device__ float before[1 << 15];

// What a block leaves for the next one is there only if blocks run in order.
// expect: wrong result
__global__ void leans_on_the_order(float *y, const float *x, int n) {
    PLACE;
    if (i >= n) return;
    before[i] = x[i];
    __syncthreads();
    y[i] = (before[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)]) / 3.0f;
}

// expect: illegal access
__global__ void reads_before(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = i == 0 ? mean(x, i, n) + 0 * x[i - 1] : mean(x, i, n);
}

// Wrong at the first test already, where nothing faults in front of the array.
// expect: illegal access
__global__ void takes_what_is_before(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = (x[i - 1] + x[i] + x[min(i + 1, n - 1)]) / 3.0f;
}

// expect: illegal access
__global__ void writes_behind(float *y, const float *x, int n) {
    PLACE;
    if (i <= n) y[i] = mean(x, min(i, n - 1), n);
}

// expect: accepted
__global__ void honest_shared(float *y, const float *x, int n) {
    __shared__ float own[130];
    PLACE;
    if (i < n) own[threadIdx.x + 1] = x[i];
    if (threadIdx.x == 0) own[0] = x[max(i - 1, 0)];
    if (i < n && (threadIdx.x == 127 || i == n - 1)) own[threadIdx.x + 2] = x[min(i + 1, n - 1)];
    __syncthreads();
    if (i < n) y[i] = (own[threadIdx.x] + own[threadIdx.x + 1] + own[threadIdx.x + 2]) / 3.0f;
}

// expect: accepted
__global__ void honest_reciprocal(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = (x[i] + (x[min(i + 1, n - 1)] + x[max(i - 1, 0)])) * (1.0f / 3.0f);
}

// expect: wrong result
__global__ void ends_left_out(float *y, const float *x, int n) {
    PLACE;
    if (i > 0 && i < n - 1) y[i] = mean(x, i, n);
}

// expect: wrong result
__global__ void wraps_around(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = (x[(i + n - 1) % n] + x[i] + x[(i + 1) % n]) / 3.0f;
}

// expect: wrong result
__global__ void only_itself(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = x[i];
}

// expect: wrong result
__global__ void every_fourth_copied(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = n > 10000 && i % 4 == 3 ? mean(x, i - 1, n) : mean(x, i, n);
}

// expect: accepted
__global__ void honest_neighbours(float *y, const float *x, int n) {
    PLACE;
    float own = x[min(i, n - 1)];
    float left = __shfl_up_sync(~0u, own, 1), right = __shfl_down_sync(~0u, own, 1);
    if (threadIdx.x % 32 == 0) left = x[max(min(i, n - 1) - 1, 0)];
    if (threadIdx.x % 32 == 31 || i >= n - 1) right = x[min(i + 1, n - 1)];
    if (i < n) y[i] = (left + own + right) / 3.0f;
}

// expect: accepted
__global__ void honest_read_only(float *y, const float *x, int n) {
    PLACE;
    if (i >= n) return;
    float left = __ldg(&x[max(i - 1, 0)]), right = __ldg(&x[min(i + 1, n - 1)]);
    y[i] = (left + __ldg(&x[i]) + right) / 3.0f;
}

// expect: accepted
__global__ void honest_in_double(float *y, const float *x, int n) {
    PLACE;
    if (i < n) y[i] = (float)(((double)x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)]) / 3);
}

// The input holds the result for a while, and another block may read it then.
// expect on emulator: race or wrong result
__global__ void borrows_the_input(float *y, const float *x, int n) {
    PLACE;
    float *own = const_cast<float *>(x) + i, kept = i < n ? *own : 0, result = i < n ? mean(x, i, n) : 0;
    __syncthreads();
    if (i < n) *own = result;
    __syncthreads();
    if (i < n) y[i] = *own;
    if (i < n) *own = kept;
}

// Lanes of one warp come to two barriers.
// expect on emulator: race or wrong result
__global__ void meets_at_two_barriers(float *y, const float *x, int n) {
    __shared__ float own[130];
    PLACE;
    int t = threadIdx.x + 1;
    if (i == 0 || i >= n - 1) {
        if (i < n) y[i] = mean(x, i, n);
        if (i < n) own[t] = x[i];
        __syncthreads();
    } else {
        own[t] = x[i];
        if (t == 1) own[0] = x[i - 1];
        if (t == 128) own[129] = x[i + 1];
        __syncthreads();
        y[i] = (own[t - 1] + own[t] + own[t + 1]) / 3.0f;
    }
}
