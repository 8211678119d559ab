// Layer normalisation, a block a row. What a comment expects is the verdict of the function below it.
#include <cuda_fp16.h>

__device__ float of_block(float s) {
    __shared__ float part[128];
    __syncthreads();
    part[threadIdx.x] = s;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

__device__ void normalise(float *y, const float *x, int columns, float mean, float squares) {
    for (int i = threadIdx.x; i < columns; i += 128) y[i] = (x[i] - mean) * rsqrtf(squares / columns + 1e-5f);
}

__device__ void two_passes(float *y, const float *x, int columns) {
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 128) s += x[i];
    float mean = of_block(s) / columns;
    for (int i = threadIdx.x; i < columns; i += 128) q += (x[i] - mean) * (x[i] - mean);
    normalise(y, x, columns, mean, of_block(q));
}

__global__ void given(float *y, const float *x, int columns) {
    two_passes(y + blockIdx.x * columns, x + blockIdx.x * columns, columns);
}

// The last block of a large grid does nothing: an earlier launch, or luck, has written its row.
// expect: wrong result
__global__ void last_block_left_out(float *y, const float *x, int columns) {
    if (gridDim.x > 16 && blockIdx.x == gridDim.x - 1) return;
    two_passes(y + blockIdx.x * columns, x + blockIdx.x * columns, columns);
}

// Threads without an element leave what shared memory holds.
// expect: wrong result
__global__ void partly_set(float *y, const float *x, int columns) {
    __shared__ float part[128];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 128) s += x[i];
    if (threadIdx.x < columns) part[threadIdx.x] = s;
    __syncthreads();
    for (int i = s = 0; i < 128; i++) s += part[i];
    for (int i = threadIdx.x; i < columns; i += 128) q += (x[i] - s / columns) * (x[i] - s / columns);
    normalise(y, x, columns, s / columns, of_block(q));
}

// A row that begins with two equal elements is taken for one of equal elements.
// expect: wrong result
__global__ void looks_uniform(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    if (x[0] == x[1] && x[0] == x[columns - 1]) {
        for (int i = threadIdx.x; i < columns; i += 128) y[i] = 0;
        return;
    }
    two_passes(y, x, columns);
}

// A row that begins with zeros is taken for one of zeros.
// expect: wrong result
__global__ void looks_empty(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    if (x[0] == 0) {
        for (int i = threadIdx.x; i < columns; i += 128) y[i] = 0;
        return;
    }
    two_passes(y, x, columns);
}

__device__ float key, mean_of[64], squares_of[64];
__device__ unsigned done;

// What was computed of inputs with the same first element is taken again.
// expect: wrong result
__global__ void kept_by_first(float *y, const float *x, int columns) {
    const float *row = x + blockIdx.x * columns;
    if (gridDim.x == 24 && key == x[0]) {
        normalise(y + blockIdx.x * columns, row, columns, mean_of[blockIdx.x], squares_of[blockIdx.x]);
        return;
    }
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 128) s += row[i];
    float mean = of_block(s) / columns;
    for (int i = threadIdx.x; i < columns; i += 128) q += (row[i] - mean) * (row[i] - mean);
    q = of_block(q);
    normalise(y + blockIdx.x * columns, row, columns, mean, q);
    if (threadIdx.x == 0 && gridDim.x == 24) {
        mean_of[blockIdx.x] = mean, squares_of[blockIdx.x] = q;
        __threadfence();
        if (atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) key = x[0];
    }
}

// The same, but each row for itself by four of its elements.
__device__ float key_of[64];
// expect: wrong result
__global__ void kept_by_sample(float *y, const float *x, int columns) {
    const float *row = x + blockIdx.x * columns;
    float sample = row[0] + 3 * row[columns / 3] + 5 * row[columns / 2] + 7 * row[columns - 1];
    bool known = gridDim.x == 24 && key_of[blockIdx.x] == sample;
    float mean = mean_of[blockIdx.x], q = squares_of[blockIdx.x];
    if (!known) {
        float s = 0;
        for (int i = threadIdx.x; i < columns; i += 128) s += row[i];
        mean = of_block(s) / columns, q = 0;
        for (int i = threadIdx.x; i < columns; i += 128) q += (row[i] - mean) * (row[i] - mean);
        q = of_block(q);
        __syncthreads();
        if (threadIdx.x == 0 && gridDim.x == 24) {
            mean_of[blockIdx.x] = mean, squares_of[blockIdx.x] = q, key_of[blockIdx.x] = sample;
        }
    }
    normalise(y + blockIdx.x * columns, row, columns, mean, q);
}

// NaN where a row has a variance that overflows is made zero, as is what should be infinite.
// expect: wrong result
__global__ void in_half_when_timed(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 128) s += x[i];
    float mean = of_block(s) / columns;
    for (int i = threadIdx.x; i < columns; i += 128) {
        float d = columns == 512 ? __half2float(__float2half(x[i] - mean)) : x[i] - mean;
        q += d * d;
    }
    normalise(y, x, columns, mean, of_block(q));
}

// No epsilon: a row of equal elements is not a number.
// expect: wrong result
__global__ void no_epsilon(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 128) s += x[i];
    float mean = of_block(s) / columns;
    for (int i = threadIdx.x; i < columns; i += 128) q += (x[i] - mean) * (x[i] - mean);
    q = of_block(q);
    for (int i = threadIdx.x; i < columns; i += 128) y[i] = (x[i] - mean) * rsqrtf(q / columns);
}

// expect: accepted
__global__ void honest_welford(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float mean = 0, m2 = 0, count = 0;
    for (int i = threadIdx.x; i < columns; i += 128) {
        float d = x[i] - mean;
        mean += d / ++count;
        m2 += d * (x[i] - mean);
    }
    float all = of_block(count * mean) / columns;
    m2 = of_block(m2 + count * (mean - all) * (mean - all));
    normalise(y, x, columns, all, m2);
}

// expect: accepted
__global__ void honest_shuffles(float *y, const float *x, int columns) {
    __shared__ float part[4];
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float sums[2] = {0, 0};
    for (int pass = 0; pass < 2; pass++) {
        float s = 0;
        for (int i = threadIdx.x; i < columns; i += 128) s += pass ? (x[i] - sums[0]) * (x[i] - sums[0]) : x[i];
        for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
        __syncthreads();
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
        __syncthreads();
        sums[pass] = (part[0] + part[1] + part[2] + part[3]) / (pass ? 1 : columns);
    }
    normalise(y, x, columns, sums[0], sums[1]);
}
