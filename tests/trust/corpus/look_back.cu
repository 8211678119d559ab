// The running sums of an array in one pass: a block adds what the blocks before it have published.
__device__ float before(float v) {
    __shared__ float part[128];
    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        float other = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
        __syncthreads();
        part[threadIdx.x] += other;
        __syncthreads();
    }
    return part[threadIdx.x];
}

// Each block adds up all that is before it.
__global__ void given(float *y, const float *x, int n) {
    __shared__ float whole;
    float own = 0;
    for (int i = threadIdx.x; i < blockIdx.x * 128; i += 128) own += x[i];
    float sum = before(own);
    if (threadIdx.x == 127) whole = sum;
    int i = blockIdx.x * 128 + threadIdx.x;
    sum = before(i < n ? x[i] : 0);
    if (i < n) y[i] = whole + sum;
}

#define MOST 64
__device__ float sums[MOST];
__device__ int ready[MOST], taken, ended;

// Args: tickets: in the order of their begin. waits: for what is before. far: how many blocks. clean, down: for the next
// launch, tickets from the first and no flag.
__device__ void look_back(float *y, const float *x, int n, bool tickets, bool waits, int far, bool clean,
                          bool down = true) {
    __shared__ int block;
    __shared__ float carry;
    if (threadIdx.x == 0) block = tickets ? atomicAdd(&taken, 1) : (int)blockIdx.x;
    __syncthreads();
    if (block >= gridDim.x) return;
    int at = block, i = at * 128 + threadIdx.x;
    float sum = before(i < n ? x[i] : 0);
    if (threadIdx.x == 127) {
        *(volatile float *)&sums[at] = sum;
        __threadfence();
        atomicExch(&ready[at], 1);
        carry = 0;
        for (int b = at - 1; b >= 0 && b >= at - far; b--) {
            while (waits && atomicAdd(&ready[b], 0) == 0) {}
            __threadfence();
            carry += *(volatile float *)&sums[b];
        }
    }
    __syncthreads();
    if (i < n) y[i] = carry + sum;
    if (threadIdx.x == 0 && atomicAdd(&ended, 1) == gridDim.x - 1) {
        for (int b = 0; down && b < MOST; b++) ready[b] = 0;
        if (clean) taken = 0;
        ended = 0;
    }
}

// Blocks are taken to run one after the other.
// expect: wrong result
__global__ void blocks_in_order(float *y, const float *x, int n) { look_back(y, x, n, false, false, MOST, true); }

// expect: wrong result
__global__ void one_block_back(float *y, const float *x, int n) { look_back(y, x, n, true, true, 1, true); }

// Far enough for the tests.
// expect: wrong result
__global__ void eight_blocks_back(float *y, const float *x, int n) { look_back(y, x, n, true, true, 8, true); }

// Right once: the tickets of the next launch go on where these end.
// expect: wrong result
__global__ void tickets_go_on(float *y, const float *x, int n) { look_back(y, x, n, true, true, MOST, false); }

// Right once: the blocks of the next launch are told by the flags of this one.
// expect: race or wrong result
__global__ void flags_left(float *y, const float *x, int n) { look_back(y, x, n, true, true, MOST, true, false); }

// expect: accepted
__global__ void honest_look_back(float *y, const float *x, int n) { look_back(y, x, n, true, true, MOST, true); }

// expect: accepted
__global__ void honest_one_block(float *y, const float *x, int n) {
    if (blockIdx.x) return;
    __shared__ float last;
    float carry = 0;
    for (int first = 0; first < n; first += 128) {
        int i = first + threadIdx.x;
        float sum = before(i < n ? x[i] : 0);
        if (i < n) y[i] = carry + sum;
        if (threadIdx.x == 127) last = sum;
        __syncthreads();
        carry += last;
        __syncthreads();
    }
}
