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

// expect on cuda: wrong result
__global__ void waits_where_an_index_is_a_macro(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
#ifdef threadIdx
    __syncthreads();
#endif
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

// A late warp clears what others have counted already.
// expect: wrong result or race
__global__ void cleared_without_a_barrier(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    EACH(i) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// expect: wrong result or race
__global__ void barrier_of_a_warp(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncwarp();
    EACH(i) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// expect: wrong result or race
__global__ void read_without_a_barrier(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    EACH(i) atomicAdd(&own[x[i]], 1u);
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// expect: wrong result or race
__global__ void cleared_again_too_soon(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    for (int first = blockIdx.x * 2048, half = 0; half < 2; half++, first += 1024) {
        if (threadIdx.x < 64) own[threadIdx.x] = 0;
        __syncthreads();
        for (int i = first + threadIdx.x; i < min(n, first + 1024); i += 128) atomicAdd(&own[x[i]], 1u);
        __syncthreads();
        if (threadIdx.x >= 64) atomicAdd(&bins[127 - threadIdx.x], own[127 - threadIdx.x]);
    }
}

// The warp that is done last, as a counter says, adds the counts of all.
// expect: accepted
__global__ void honest_last_warp(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64], done;
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    if (threadIdx.x == 64) done = 0;
    __syncthreads();
    EACH(i) atomicAdd(&own[x[i]], 1u);
    __threadfence_block();
    __syncwarp();
    int lane = threadIdx.x % 32;
    unsigned before = lane == 0 ? atomicAdd(&done, 1u) : 0;
    if (__shfl_sync(~0u, before, 0) != 3) return;
    __threadfence_block();
    atomicAdd(&bins[lane], ((volatile unsigned *)own)[lane]);
    atomicAdd(&bins[lane + 32], ((volatile unsigned *)own)[lane + 32]);
}

// Reads a counter and puts back one more, each by itself without a fault.
// expect: wrong result
__global__ void read_then_exchanged(unsigned *bins, const int *x, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    EACH(i) atomicExch(&own[x[i]], atomicAdd(&own[x[i]], 0u) + 1);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// expect: race or wrong result
__global__ void counters_are_volatile(unsigned *bins, const int *x, int n) {
    __shared__ volatile unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    EACH(i) own[x[i]] = own[x[i]] + 1;
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
