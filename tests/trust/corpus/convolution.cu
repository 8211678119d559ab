// An image under a mask of 5 times 5, with zeros around it: a thread an element.
#include <cuda_fp16.h>

#define PLACE                                                                                  \
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;                  \
    if (i >= height || j >= width) return;                                                     \
    float sum = 0;

#define FILTER for (int di = -2; di <= 2; di++) for (int dj = -2; dj <= 2; dj++)

__device__ float around(const float *x, int i, int j, int height, int width) {
    return i >= 0 && i < height && j >= 0 && j < width ? x[i * width + j] : 0;
}

__global__ void given(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    FILTER sum += around(x, i + di, j + dj, height, width) * mask[di * 5 + dj + 12];
    y[i * width + j] = sum;
}

// expect: wrong result
__global__ void border_repeated(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    FILTER sum += x[min(height - 1, max(0, i + di)) * width + min(width - 1, max(0, j + dj))] * mask[di * 5 + dj + 12];
    y[i * width + j] = sum;
}

// expect: wrong result
__global__ void border_is_zero(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    if (i >= 2 && i < height - 2 && j >= 2 && j < width - 2)
        FILTER sum += x[(i + di) * width + j + dj] * mask[di * 5 + dj + 12];
    y[i * width + j] = sum;
}

// expect: wrong result
__global__ void filter_is_symmetric(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    FILTER sum += around(x, i + di, j + dj, height, width) * mask[abs(di) * 5 + abs(dj) + 12];
    y[i * width + j] = sum;
}

// A mask whose first eight weights are equal is taken for one of equal weights.
// expect: wrong result
__global__ void equal_by_sample(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    bool equal = true;
    for (int k = 0; k < 8; k++) equal = equal && mask[k] == mask[0];
    FILTER sum += around(x, i + di, j + dj, height, width) * mask[equal ? 0 : di * 5 + dj + 12];
    y[i * width + j] = sum;
}

// A column times a row.
// expect: wrong result
__global__ void filter_is_of_rank_one(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    FILTER sum += around(x, i + di, j + dj, height, width) * mask[di * 5 + 12] * mask[12 + dj] / mask[12];
    y[i * width + j] = sum;
}

// expect: wrong result
__global__ void small_weights_left_out(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    FILTER if (fabsf(mask[di * 5 + dj + 12]) > 0.05f) sum += around(x, i + di, j + dj, height, width) * mask[di * 5 + dj + 12];
    y[i * width + j] = sum;
}

// expect: wrong result
__global__ void sum_of_half(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    __half half = __float2half(0);
    FILTER half = __float2half(__half2float(half) + around(x, i + di, j + dj, height, width) * mask[di * 5 + dj + 12]);
    y[i * width + j] = __half2float(half) + sum;
}

__device__ void tiled(float *y, const float *x, const float *mask, int height, int width, bool halo, bool waits) {
    __shared__ float tile[20][20];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    for (int at = threadIdx.y * 16 + threadIdx.x; at < 400; at += 256) {
        int r = at / 20 - 2, c = at % 20 - 2;
        bool own = r >= 0 && r < 16 && c >= 0 && c < 16;
        tile[at / 20][at % 20] = own || halo ? around(x, (int)blockIdx.y * 16 + r, (int)blockIdx.x * 16 + c, height, width) : 0;
    }
    if (waits) __syncthreads();
    if (i >= height || j >= width) return;
    float sum = 0;
    FILTER sum += tile[threadIdx.y + 2 + di][threadIdx.x + 2 + dj] * mask[di * 5 + dj + 12];
    y[i * width + j] = sum;
}

// expect: wrong result
__global__ void tiles_apart(float *y, const float *x, const float *mask, int height, int width) { tiled(y, x, mask, height, width, false, true); }

// expect: wrong result or race
__global__ void barrier_left_out(float *y, const float *x, const float *mask, int height, int width) { tiled(y, x, mask, height, width, true, false); }

// expect: accepted
__global__ void honest_tile(float *y, const float *x, const float *mask, int height, int width) { tiled(y, x, mask, height, width, true, true); }

// expect: accepted
__global__ void honest_columns_first(float *y, const float *x, const float *mask, int height, int width) {
    PLACE
    for (int dj = -2; dj <= 2; dj++)
        for (int di = 2; di >= -2; di--) sum = fmaf(around(x, i + di, j + dj, height, width), mask[di * 5 + dj + 12], sum);
    y[i * width + j] = sum;
}
