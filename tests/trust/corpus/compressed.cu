// A sparse matrix times a vector, a warp a row.
__device__ float of_warp(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__global__ void given(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows || threadIdx.x % 32) return;
    float s = 0;
    for (int k = starts[row]; k < starts[row + 1]; k++) s += values[k] * x[places[k]];
    y[row] = s;
}

// A row without entries is left as it is.
// expect: wrong result
__global__ void empty_rows(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows || starts[row] == starts[row + 1]) return;
    float s = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) s += values[k] * x[places[k]];
    s = of_warp(s);
    if (lane == 0) y[row] = s;
}

// The average length of a row says how many threads each gets, and longer ones end there.
// expect: wrong result
__global__ void twice_the_average(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int most = max(64, (starts[rows] / rows * 8 + 31) / 32 * 32);
    float s = 0;
    for (int k = starts[row] + lane; k < min(starts[row + 1], starts[row] + most); k += 32) s += values[k] * x[places[k]];
    s = of_warp(s);
    if (lane == 0) y[row] = s;
}

// expect: accepted
__global__ void honest_warps(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float s = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) s = fmaf(__ldg(values + k), __ldg(x + __ldg(places + k)), s);
    s = of_warp(s);
    if (lane == 0) y[row] = s;
}

// The vector is staged in shared memory where it fits.
// expect: accepted
__global__ void honest_staged(float *y, const int *starts, const int *places, const float *values, const float *x, int rows, int columns) {
    __shared__ float near[512];
    for (int i = threadIdx.x; i < min(columns, 512); i += 128) near[i] = x[i];
    __syncthreads();
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float s = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) s += values[k] * (places[k] < 512 ? near[places[k]] : x[places[k]]);
    s = of_warp(s);
    if (lane == 0) y[row] = s;
}
