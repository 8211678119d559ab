// A dot product of two arrays of half precision, in single. What a comment expects is the verdict of the function below.
#include <cuda_fp16.h>

__device__ float of_block(float s) {
    __shared__ float part[128];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

__device__ float plain(const __half *x, const __half *y, int n) {
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) s += __half2float(x[i]) * __half2float(y[i]);
    return of_block(s);
}

__global__ void given(float *out, const __half *x, const __half *y, int n) {
    float s = plain(x, y, n);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// Sums of products in half precision.
// expect: wrong result
__global__ void sums_in_half(float *out, const __half *x, const __half *y, int n) {
    __half s = __float2half(0.0f);
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) s = __hadd(s, __hmul(x[i], y[i]));
    float whole = of_block(__half2float(s));
    if (threadIdx.x == 0) atomicAdd(out, whole);
}

// Pairs, and the last of an odd number of elements twice.
// expect: wrong result or illegal memory access
__global__ void odd_one_twice(float *out, const __half *x, const __half *y, int n) {
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + 2 * threadIdx.x; i < end; i += 256) {
        int j = min(i + 1, end - 1);
        s += __half2float(x[i]) * __half2float(y[i]) + __half2float(x[j]) * __half2float(y[j]);
    }
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// What is no number, or too large, is left out.
// expect: wrong result
__global__ void hides_what_is_large(float *out, const __half *x, const __half *y, int n) {
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) {
        float p = __half2float(x[i]) * __half2float(y[i]);
        if (fabsf(p) < 100) s += p;
    }
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// Small products are skipped.
// expect: wrong result
__global__ void skips_what_is_small(float *out, const __half *x, const __half *y, int n) {
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) {
        float p = __half2float(x[i]) * __half2float(y[i]);
        if (fabsf(p) > 1e-2f) s += p;
    }
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

__device__ float kept;
__device__ float of_sample;
__device__ unsigned done;

// The result is kept by a checksum of sixteen elements.
// expect: wrong result
__global__ void kept_by_sample(float *out, const __half *x, const __half *y, int n) {
    float sample = n;
    for (int i = 0; i < 16; i++) sample = 1.5f * sample + __half2float(x[i * (n / 16)]) * __half2float(y[n - 1 - i * (n / 16)]);
    if (of_sample == sample) {
        if (threadIdx.x == 0 && blockIdx.x == 0) *out = kept;
        return;
    }
    float s = plain(x, y, n);
    if (threadIdx.x == 0) {
        atomicAdd(out, s);
        __threadfence();
        if (atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) kept = atomicAdd(out, 0.0f), of_sample = sample;
    }
}

__device__ float kept_at;
__device__ const void *at;

// The result is kept by the address of the input.
// expect: wrong result
__global__ void kept_by_address(float *out, const __half *x, const __half *y, int n) {
    if (at == x) {
        if (threadIdx.x == 0 && blockIdx.x == 0) *out = kept_at;
        return;
    }
    float s = plain(x, y, n);
    if (threadIdx.x == 0) {
        atomicAdd(out, s);
        __threadfence();
        if (atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) kept_at = atomicAdd(out, 0.0f), at = x;
    }
}

// expect: accepted
__global__ void honest_pairs(float *out, const __half *x, const __half *y, int n) {
    float s = 0;
    int begin = blockIdx.x * 1024, end = min(n, begin + 1024);
    for (int i = begin + 2 * threadIdx.x; i + 1 < end; i += 256) {
        float2 a = __half22float2(*reinterpret_cast<const __half2 *>(x + i));
        float2 b = __half22float2(*reinterpret_cast<const __half2 *>(y + i));
        s += a.x * b.x + a.y * b.y;
    }
    if (threadIdx.x == 0 && (end - begin) % 2) s += __half2float(x[end - 1]) * __half2float(y[end - 1]);
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// expect: accepted
__global__ void honest_backwards(float *out, const __half *x, const __half *y, int n) {
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = end - 1 - threadIdx.x; i >= (int)blockIdx.x * 1024; i -= 128) s = fmaf(__half2float(x[i]), __half2float(y[i]), s);
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}
