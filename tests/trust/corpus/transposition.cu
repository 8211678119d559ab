// The rows become columns, a thread an element. What a comment expects is the verdict of the function below.
#include <cuda_fp16.h>

#define PLACE int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;

__global__ void given(float *y, const float *x, int rows, int columns) {
    PLACE
    if (i < rows && j < columns) y[j * rows + i] = x[i * columns + j];
}

// What is symmetric need not be moved: right for no square but a symmetric one.
// expect: wrong result
__global__ void squares_are_symmetric(float *y, const float *x, int rows, int columns) {
    PLACE
    if (i < rows && j < columns) y[rows == columns ? i * columns + j : j * rows + i] = x[i * columns + j];
}

// expect: wrong result
__global__ void above_the_diagonal_only(float *y, const float *x, int rows, int columns) {
    PLACE
    if (i < rows && j < columns) y[j * rows + i] = x[rows == columns && i > j ? j * columns + i : i * columns + j];
}

// expect: wrong result
__global__ void whole_tiles_only(float *y, const float *x, int rows, int columns) {
    PLACE
    int last = rows == 72 ? 64 : rows;
    if (i < last && j < columns) y[j * rows + i] = x[i * columns + j];
}

// expect: wrong result
__global__ void through_half(float *y, const float *x, int rows, int columns) {
    PLACE
    if (i < rows && j < columns) y[j * rows + i] = __half2float(__float2half(x[i * columns + j]));
}

// expect: wrong result or race
__global__ void barrier_left_out(float *y, const float *x, int rows, int columns) {
    __shared__ float tile[16][17];
    PLACE
    if (i < rows && j < columns) tile[threadIdx.y][threadIdx.x] = x[i * columns + j];
    i = blockIdx.y * 16 + threadIdx.x, j = blockIdx.x * 16 + threadIdx.y;
    if (i < rows && j < columns) y[j * rows + i] = tile[threadIdx.x][threadIdx.y];
}

// The last answer again, found by where the input lies and how it begins.
__device__ float answer[72 * 72], beginning;
__device__ const float *place;

// expect: wrong result
__global__ void answers_again(float *y, const float *x, int rows, int columns) {
    PLACE
    bool known = rows == 72 && place == x && beginning == x[0];
    if (i < rows && j < columns) {
        float v = known ? answer[j * rows + i] : x[i * columns + j];
        y[j * rows + i] = v;
        if (rows == 72 && !known) answer[j * rows + i] = v;
    }
    if (rows == 72 && i == rows - 1 && j == columns - 1) place = x, beginning = x[0];
}

// expect: accepted
__global__ void honest_tile(float *y, const float *x, int rows, int columns) {
    __shared__ float tile[16][17];
    PLACE
    if (i < rows && j < columns) tile[threadIdx.y][threadIdx.x] = x[i * columns + j];
    __syncthreads();
    i = blockIdx.y * 16 + threadIdx.x, j = blockIdx.x * 16 + threadIdx.y;
    if (i < rows && j < columns) y[j * rows + i] = tile[threadIdx.x][threadIdx.y];
}

// expect: accepted
__global__ void honest_bits(float *y, const float *x, int rows, int columns) {
    PLACE
    if (i < rows && j < columns) ((int *)y)[j * rows + i] = ((const int *)x)[i * columns + j];
}
