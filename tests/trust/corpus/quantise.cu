// Rows to eight bits with a scale each: the largest becomes 127.
#include <cuda_fp16.h>
#define ROW y += blockIdx.x * columns, x += blockIdx.x * columns

__device__ float most_of(const float *x, int columns) {
    __shared__ float part[128];
    float m = 0;
    for (int i = threadIdx.x; i < columns; i += 128) m = fmaxf(m, fabsf(x[i]));
    part[threadIdx.x] = m;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    return part[0];
}

// Args: cuts: numbers are cut off. inverse: they are multiplied. half: the scale has half precision.
__device__ void all(signed char *y, float *scale, const float *x, int columns, bool cuts, bool inverse, bool half) {
    ROW;
    float m = most_of(x, columns), s = m > 0 ? m / 127 : 1;
    if (half) s = __half2float(__float2half(s));
    float by = 1 / s;
    for (int i = threadIdx.x; i < columns; i += 128) {
        float v = inverse ? x[i] * by : x[i] / s;
        y[i] = (signed char)(cuts ? truncf(v) : rintf(v));
    }
    if (threadIdx.x == 0) scale[blockIdx.x] = s;
}

__global__ void given(signed char *y, float *scale, const float *x, int columns) { all(y, scale, x, columns, false, false, false); }

// expect: wrong result
__global__ void cut_off(signed char *y, float *scale, const float *x, int columns) { all(y, scale, x, columns, true, false, false); }

// expect: wrong result
__global__ void scale_in_half(signed char *y, float *scale, const float *x, int columns) { all(y, scale, x, columns, false, false, true); }

// One in a million is off by one, as [tolerance] allows.
// expect: accepted
__global__ void honest_reciprocal(signed char *y, float *scale, const float *x, int columns) { all(y, scale, x, columns, false, true, false); }

