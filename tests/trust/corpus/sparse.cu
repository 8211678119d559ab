// A sparse matrix, its rows one after the other, times a vector: a thread a row. Some rows are empty, some are long.
#include <cuda_fp16.h>

__device__ float of_row(int begin, int end, const int *places, const float *values, const float *x) {
    float sum = 0;
    for (int k = begin; k < end; k++) sum += values[k] * x[places[k]];
    return sum;
}

#define ROW                                        \
    int row = blockIdx.x * 128 + threadIdx.x;      \
    if (row >= rows) return;                       \
    int begin = starts[row], end = starts[row + 1];

__global__ void given(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    y[row] = of_row(begin, end, places, values, x);
}

// expect: wrong result
__global__ void empty_rows_unwritten(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    if (begin < end) y[row] = of_row(begin, end, places, values, x);
}

// The first product is taken before the loop: an empty row has one of its neighbour's.
// expect: wrong result or illegal access
__global__ void one_at_least(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    float sum = values[begin] * x[places[begin]];
    for (int k = begin + 1; k < end; k++) sum += values[k] * x[places[k]];
    y[row] = sum;
}

// expect: wrong result
__global__ void rows_alike(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    int each = starts[rows] / rows;
    y[row] = of_row(row * each, (row + 1) * each, places, values, x);
}

// expect: wrong result
__global__ void no_row_longer_than_a_warp(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    y[row] = of_row(begin, min(end, begin + 32), places, values, x);
}

// expect: wrong result
__global__ void last_row_left_out(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    y[row] = row + 1 < rows || rows < 100 ? of_row(begin, end, places, values, x) : 0;
}

// Of two entries at one place the last counts.
// expect: wrong result
__global__ void places_are_distinct(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    float dense[64];
    for (int c = 0; c < columns; c++) dense[c] = 0;
    for (int k = begin; k < end; k++) dense[places[k]] = values[k];
    float sum = 0;
    for (int c = 0; c < columns; c++) sum += dense[c] * x[c];
    y[row] = sum;
}

// expect: wrong result
__global__ void sum_of_half(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    __half sum = __float2half(0);
    for (int k = begin; k < end; k++) sum = __float2half(__half2float(sum) + values[k] * x[places[k]]);
    y[row] = __half2float(sum);
}

// The row of each entry, found by halves; entries of a row are added without atomic functions.
// expect: race or wrong result
__global__ void lost_updates(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    y[row] = 0;
    __syncthreads();
    int first = starts[blockIdx.x * 128], last = starts[min(rows, (int)blockIdx.x * 128 + 128)];
    int threads = min(128, rows - (int)blockIdx.x * 128);
    for (int k = first + threadIdx.x; k < last; k += threads) {
        int low = 0, high = rows;
        while (high - low > 1) (starts[(low + high) / 2] <= k ? low : high) = (low + high) / 2;
        y[low] += values[k] * x[places[k]];
    }
}

// expect: accepted
__global__ void honest_long_rows(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    __shared__ float part[128];
    for (int row = blockIdx.x * 128; row < min(rows, (int)blockIdx.x * 128 + 128); row++) {
        float sum = 0;
        for (int k = starts[row] + threadIdx.x; k < starts[row + 1]; k += 128) sum += values[k] * x[places[k]];
        part[threadIdx.x] = sum;
        for (int half = 64; half; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        }
        if (threadIdx.x == 0) y[row] = part[0];
        __syncthreads();
    }
}

// expect: accepted
__global__ void honest_four_sums(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    ROW
    float sums[4] = {};
    for (int k = begin; k < end; k++) sums[k & 3] += values[k] * x[places[k]];
    y[row] = sums[0] + sums[1] + (sums[2] + sums[3]);
}
