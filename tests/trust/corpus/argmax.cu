// The place of the first maximum of each row, a block a row. What a comment expects is the verdict of the function below.

__device__ int first_of_block(float best, int at) {
    __shared__ float bests[128];
    __shared__ int ats[128];
    bests[threadIdx.x] = best, ats[threadIdx.x] = at;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) {
            float other = bests[threadIdx.x + half];
            int place = ats[threadIdx.x + half];
            if (other > bests[threadIdx.x] || (other == bests[threadIdx.x] && place < ats[threadIdx.x]))
                bests[threadIdx.x] = other, ats[threadIdx.x] = place;
        }
        __syncthreads();
    }
    return ats[0];
}

__device__ void row(int *place, const float *x, int columns, int first, int step, float least) {
    float best = least;
    int at = 1 << 30;
    for (int i = first + threadIdx.x * step; i < columns; i += 128 * step)
        if (at == 1 << 30 ? x[i] >= best : x[i] > best) best = x[i], at = i;
    at = first_of_block(best, at);
    if (threadIdx.x == 0) place[blockIdx.x] = at;
}

__global__ void given(int *place, const float *x, int columns) { row(place, x + blockIdx.x * columns, columns, 0, 1, -INFINITY); }

// The maximum is begun at 0: rows without a positive element have none.
// expect: wrong result
__global__ void begins_at_zero(int *place, const float *x, int columns) { row(place, x + blockIdx.x * columns, columns, 0, 1, 0); }

// expect: wrong result
__global__ void every_other(int *place, const float *x, int columns) {
    row(place, x + blockIdx.x * columns, columns, 0, columns == 600 ? 2 : 1, -INFINITY);
}

// By bits that keep the order, but for zeros of either sign, which are equal.
// expect: wrong result
__global__ void zeros_by_sign(int *place, const float *x, int columns) {
    __shared__ unsigned long long best;
    x += blockIdx.x * columns;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 128) {
        unsigned bits = __float_as_uint(x[i]);
        unsigned long long key = bits >> 31 ? ~bits : bits | 0x80000000u;
        atomicMax(&best, key << 32 | (0xffffffffu - i));
    }
    __syncthreads();
    if (threadIdx.x == 0) place[blockIdx.x] = 0xffffffffu - (unsigned)best;
}

// Of equal maxima any is taken.
// expect: wrong result or race
__global__ void any_of_equals(int *place, const float *x, int columns) {
    __shared__ float bests[128];
    x += blockIdx.x * columns;
    float best = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 128) best = fmaxf(best, x[i]);
    bests[threadIdx.x] = best;
    __syncthreads();
    for (int i = 0; i < 128; i++) best = fmaxf(best, bests[i]);
    for (int i = threadIdx.x; i < columns; i += 128) if (x[i] == best) place[blockIdx.x] = i;
}

// The last of equal maxima.
// expect: wrong result
__global__ void last_of_equals(int *place, const float *x, int columns) {
    __shared__ float bests[128];
    __shared__ int at;
    x += blockIdx.x * columns;
    float best = -INFINITY;
    if (threadIdx.x == 0) at = 0;
    for (int i = threadIdx.x; i < columns; i += 128) best = fmaxf(best, x[i]);
    bests[threadIdx.x] = best;
    __syncthreads();
    for (int i = 0; i < 128; i++) best = fmaxf(best, bests[i]);
    for (int i = threadIdx.x; i < columns; i += 128) if (x[i] == best) atomicMax(&at, i);
    __syncthreads();
    if (threadIdx.x == 0) place[blockIdx.x] = at;
}

// The answer is that of the launch before where the row still has its maximum there.
__device__ int before[64];
__device__ float largest[64];
// expect: wrong result
__global__ void looks_where_it_was(int *place, const float *x, int columns) {
    const float *mine = x + blockIdx.x * columns;
    __shared__ int known;
    if (threadIdx.x == 0) known = gridDim.x == 24 && largest[blockIdx.x] != 0 && mine[before[blockIdx.x]] == largest[blockIdx.x];
    __syncthreads();
    if (known) {
        if (threadIdx.x == 0) place[blockIdx.x] = before[blockIdx.x];
        return;
    }
    row(place, mine, columns, 0, 1, -INFINITY);
    __syncthreads();
    if (threadIdx.x == 0 && gridDim.x == 24) before[blockIdx.x] = place[blockIdx.x], largest[blockIdx.x] = mine[place[blockIdx.x]];
}

// Values are compared in steps of 1/1024.
// expect: wrong result
__global__ void coarse(int *place, const float *x, int columns) {
    x += blockIdx.x * columns;
    float best = -INFINITY;
    int at = 0;
    for (int i = threadIdx.x; i < columns; i += 128) {
        float v = rintf(x[i] * 1024);
        if (v > best) best = v, at = i;
    }
    at = first_of_block(best, at);
    if (threadIdx.x == 0) place[blockIdx.x] = at;
}

// Room for a place is made in the last two bits of each number.
// expect: wrong result
__global__ void last_two_bits_cut(int *place, const float *x, int columns) {
    x += blockIdx.x * columns;
    float best = -INFINITY;
    int at = 0;
    for (int i = threadIdx.x; i < columns; i += 128) {
        float v = __uint_as_float(__float_as_uint(x[i]) & ~3u);
        if (v > best) best = v, at = i;
    }
    at = first_of_block(best, at);
    if (threadIdx.x == 0) place[blockIdx.x] = at;
}

// expect: accepted
__global__ void honest_keys(int *place, const float *x, int columns) {
    __shared__ unsigned long long best;
    x += blockIdx.x * columns;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 128) {
        unsigned bits = __float_as_uint(x[i] == 0 ? 0.0f : x[i]);
        bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        atomicMax(&best, (unsigned long long)bits << 32 | (0xffffffffu - i));
    }
    __syncthreads();
    if (threadIdx.x == 0) place[blockIdx.x] = 0xffffffffu - (unsigned)best;
}

// expect: accepted
__global__ void honest_shuffles(int *place, const float *x, int columns) {
    __shared__ float bests[4];
    __shared__ int ats[4];
    x += blockIdx.x * columns;
    float best = -INFINITY;
    int at = 0;
    for (int i = threadIdx.x; i < columns; i += 128) if (x[i] > best) best = x[i], at = i;
    for (int d = 16; d; d /= 2) {
        float other = __shfl_xor_sync(~0u, best, d);
        int there = __shfl_xor_sync(~0u, at, d);
        if (other > best || (other == best && there < at)) best = other, at = there;
    }
    if (threadIdx.x % 32 == 0) bests[threadIdx.x / 32] = best, ats[threadIdx.x / 32] = at;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < 4; w++) if (bests[w] > best || (bests[w] == best && ats[w] < at)) best = bests[w], at = ats[w];
    place[blockIdx.x] = at;
}
