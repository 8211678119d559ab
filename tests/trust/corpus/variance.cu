// The variance of each row, whose mean is large: a block a row, which is gone through twice.
#include <cuda_fp16.h>

__device__ float of_block(float v) {
    __shared__ float part[128];
    __syncthreads();
    part[threadIdx.x] = v;
    for (int half = 64; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    return part[0];
}

__device__ float two_passes(const float *x, int columns, int step, float less) {
    float sum = 0, squares = 0;
    for (int i = threadIdx.x * step; i < columns; i += 128 * step) sum += x[i];
    float mean = of_block(sum) * step / columns;
    for (int i = threadIdx.x * step; i < columns; i += 128 * step) squares += (x[i] - mean) * (x[i] - mean);
    return of_block(squares) * step / (columns - less);
}

__global__ void given(float *y, const float *x, int columns) {
    float v = two_passes(x + blockIdx.x * columns, columns, 1, 0);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}

// Args: from: what is subtracted first, so that the sums are small.
__device__ float one_pass(const float *x, int columns, float from) {
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += 128) sum += x[i] - from, squares += (x[i] - from) * (x[i] - from);
    float mean = of_block(sum) / columns;
    return of_block(squares) / columns - mean * mean;
}

// The mean of the squares less the square of the mean: nothing is left of either.
// expect: wrong result
__global__ void squares_less_square(float *y, const float *x, int columns) {
    float v = one_pass(x + blockIdx.x * columns, columns, 0);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}

// The same, cut at zero.
// expect: wrong result
__global__ void never_negative(float *y, const float *x, int columns) {
    float v = one_pass(x + blockIdx.x * columns, columns, 0);
    if (threadIdx.x == 0) y[blockIdx.x] = fmaxf(v, 0);
}

// What the variance of such noise is.
// expect: wrong result
__global__ void a_twelfth(float *y, const float *x, int columns) {
    if (threadIdx.x == 0) y[blockIdx.x] = columns == 500 ? 1 / 12.0f : one_pass(x + blockIdx.x * columns, columns, 0);
}

// expect: wrong result
__global__ void one_in_two(float *y, const float *x, int columns) {
    float v = two_passes(x + blockIdx.x * columns, columns, columns == 500 ? 2 : 1, 0);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}

// expect: wrong result
__global__ void one_element_less(float *y, const float *x, int columns) {
    float v = two_passes(x + blockIdx.x * columns, columns, 1, 1);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}

// expect: wrong result
__global__ void squares_of_half(float *y, const float *x, int columns) {
    x += blockIdx.x * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 128) sum += x[i];
    float mean = of_block(sum) / columns;
    __half squares = __float2half(0);
    for (int i = threadIdx.x; i < columns; i += 128)
        squares = __float2half(__half2float(squares) + (x[i] - mean) * (x[i] - mean));
    float v = of_block(__half2float(squares)) / columns;
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}

// expect: accepted
__global__ void honest_shifted(float *y, const float *x, int columns) {
    x += blockIdx.x * columns;
    float v = one_pass(x, columns, x[0]);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}

// Mean and squares grow with each element, in double precision: in single precision this is less exact than two passes.
// expect: accepted
__global__ void honest_running(float *y, const float *x, int columns) {
    x += blockIdx.x * columns;
    if (threadIdx.x) return;
    double mean = 0, squares = 0;
    for (int i = 0; i < columns; i++) {
        double apart = x[i] - mean;
        mean += apart / (i + 1);
        squares += apart * (x[i] - mean);
    }
    y[blockIdx.x] = (float)(squares / columns);
}
