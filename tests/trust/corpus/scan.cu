// The running sums of each row, a block of 128 threads a row, 128 elements at a time.
__device__ float before(float v, float *part) {
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

__device__ void scan(float *y, const float *x, int columns, int seen, bool carries) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float carry = 0;
    for (int first = 0; first < seen; first += 128) {
        int i = first + threadIdx.x;
        float sum = before(i < seen ? x[i] : 0, part);
        if (i < seen) y[i] = carry + sum;
        if (carries) carry += part[127];
        __syncthreads();
    }
}

__global__ void given(float *y, const float *x, int columns) { scan(y, x, columns, columns, true); }

// expect: wrong result
__global__ void no_carry(float *y, const float *x, int columns) { scan(y, x, columns, columns, false); }

// expect: wrong result
__global__ void tail_unwritten(float *y, const float *x, int columns) { scan(y, x, columns, columns / 4 * 4, true); }

// What an element would be if all were alike: right at the end of the row, and nearly so before it.
// expect: wrong result
__global__ void straight_line(float *y, const float *x, int columns) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 128) sum += x[i];
    before(sum, part);
    for (int i = threadIdx.x; i < columns; i += 128) y[i] = part[127] * (i + 1) / columns;
}

// expect: wrong result
__global__ void exclusive(float *y, const float *x, int columns) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float carry = 0;
    for (int first = 0; first < columns; first += 128) {
        int i = first + threadIdx.x;
        float own = i < columns ? x[i] : 0, sum = before(own, part);
        if (i < columns) y[i] = carry + sum - own;
        carry += part[127];
        __syncthreads();
    }
}

// expect: wrong result or race
__global__ void barrier_left_out(float *y, const float *x, int columns) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float carry = 0;
    for (int first = 0; first < columns; first += 128) {
        int i = first + threadIdx.x;
        part[threadIdx.x] = i < columns ? x[i] : 0;
        __syncthreads();
        for (int d = 1; d < 128; d *= 2) {
            if (threadIdx.x >= d) part[threadIdx.x] += part[threadIdx.x - d];
            __syncthreads();
        }
        if (i < columns) y[i] = carry + part[threadIdx.x];
        carry += part[127];
        __syncthreads();
    }
}

// Elements that are small beside the carry are taken for none.
// expect: wrong result
__global__ void small_left_out(float *y, const float *x, int columns) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float carry = 0;
    for (int first = 0; first < columns; first += 128) {
        int i = first + threadIdx.x;
        float own = i < columns ? x[i] : 0;
        float sum = before(own > 0.01f ? own : 0, part);
        if (i < columns) y[i] = carry + sum;
        carry += part[127];
        __syncthreads();
    }
}

// expect: illegal access
__global__ void reads_the_next_row(float *y, const float *x, int columns) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float carry = 0;
    for (int first = 0; first < columns; first += 128) {
        int i = first + threadIdx.x;
        float sum = before(x[i] * (i < columns ? 1 : 0), part);
        if (i < columns) y[i] = carry + sum;
        carry += part[127];
        __syncthreads();
    }
}

// expect: accepted
__global__ void honest_one_thread(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < columns; i++) y[i] = sum += x[i];
}

// expect: accepted
__global__ void honest_warps(float *y, const float *x, int columns) {
    __shared__ float whole[4];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float carry = 0;
    for (int first = 0; first < columns; first += 128) {
        int i = first + threadIdx.x;
        float sum = i < columns ? x[i] : 0;
        for (int d = 1; d < 32; d *= 2) {
            float other = __shfl_up_sync(~0u, sum, d);
            if (lane >= d) sum += other;
        }
        if (lane == 31) whole[warp] = sum;
        __syncthreads();
        for (int w = 0; w < warp; w++) sum += whole[w];
        if (i < columns) y[i] = carry + sum;
        for (int w = 0; w < 4; w++) carry += whole[w];
        __syncthreads();
    }
}

// expect: accepted
__global__ void honest_pieces(float *y, const float *x, int columns) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    int each = (columns + 127) / 128, begin = threadIdx.x * each, end = min(columns, begin + each);
    float own = 0;
    for (int i = begin; i < end; i++) own += x[i];
    float sum = before(own, part) - own;
    for (int i = begin; i < end; i++) y[i] = sum += x[i];
}

// expect: accepted
__global__ void honest_double(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    double sum = 0;
    if (threadIdx.x == 127)
        for (int i = 0; i < columns; i++) sum += x[i], y[i] = (float)sum;
}
