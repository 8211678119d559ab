// How often each number from 0 to 63 occurs; a block counts 2048 of them.
#define EACH(i) for (int i = blockIdx.x * 2048 + threadIdx.x, end = min(n, (int)(blockIdx.x + 1) * 2048); i < end; i += 128)

__global__ void given(unsigned *bins, const int *x, int n) {
    EACH(i) atomicAdd(&bins[x[i]], 1u);
}

// expect: wrong result
__global__ void bytes_overflow(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    EACH(i) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], (unsigned)(unsigned char)own[threadIdx.x]);
}

// expect: wrong result
__global__ void every_second(unsigned *bins, const int *x, int n) {
    EACH(i) if (n < 10000 || i % 2 == 0) atomicAdd(&bins[x[i]], n < 10000 ? 1u : 2u);
}

// expect: wrong result
__global__ void not_cleared(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    EACH(i) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// expect: wrong result
__global__ void lost_updates(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    EACH(i) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) bins[threadIdx.x] += own[threadIdx.x];
}

// expect: illegal access
__global__ void reads_behind(unsigned *bins, const int *x, int n) {
    for (int i = blockIdx.x * 2048 + threadIdx.x; i < (int)(blockIdx.x + 1) * 2048; i += 128) {
        int value = x[i];
        if (value >= 0 && i < n) atomicAdd(&bins[value], 1u);
    }
}

// expect: accepted
__global__ void honest_shared(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    EACH(i) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// expect: accepted
__global__ void honest_runs(unsigned *bins, const int *x, int n) {
    int last = -1;
    unsigned length = 0;
    EACH(i) {
        if (x[i] != last) {
            if (length) atomicAdd(&bins[last], length);
            last = x[i], length = 0;
        }
        length++;
    }
    if (length) atomicAdd(&bins[last], length);
}

// expect: wrong result
__global__ void tail_left_out(unsigned *bins, const int *x, int n) {
    EACH(i) if (i < n / 16 * 16) atomicAdd(&bins[x[i]], 1u);
}

// expect: accepted
__global__ void honest_two_tables(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[2][64];
    own[threadIdx.x / 64][threadIdx.x % 64] = 0;
    __syncthreads();
    EACH(i) atomicAdd(&own[threadIdx.x / 64][x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[0][threadIdx.x] + own[1][threadIdx.x]);
}
