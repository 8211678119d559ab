// The discrete Fourier transform of each row, a block a row: real and imaginary parts in turns.
#include <cuda_fp16.h>

struct Complex {
    float re, im;
};

__device__ Complex turned(Complex v, float angle) {
    float s = sinf(angle), c = cosf(angle);
    return {v.re * c - v.im * s, v.re * s + v.im * c};
}

__device__ Complex frequency(const Complex *x, int n, int f, int seen, float sign) {
    Complex sum = {0, 0};
    for (int k = 0; k < seen; k++) {
        Complex v = turned(x[k], sign * 6.2831853071795864769f * (f * k % n) / n);
        sum.re += v.re, sum.im += v.im;
    }
    return sum;
}

__device__ Complex *row_of(float *all, int n) { return (Complex *)all + blockIdx.x * n; }
__device__ const Complex *row_of(const float *all, int n) { return (const Complex *)all + blockIdx.x * n; }

__global__ void given(float *y, const float *x, int n) {
    for (int f = threadIdx.x; f < n; f += 128) row_of(y, n)[f] = frequency(row_of(x, n), n, f, n, -1);
}

// expect: wrong result
__global__ void inverse(float *y, const float *x, int n) {
    for (int f = threadIdx.x; f < n; f += 128) row_of(y, n)[f] = frequency(row_of(x, n), n, f, n, 1);
}

// The upper half is mirrored from the lower one, as with real input.
// expect: wrong result
__global__ void input_is_real(float *y, const float *x, int n) {
    for (int f = threadIdx.x; f <= n / 2; f += 128) {
        Complex v = frequency(row_of(x, n), n, f, n, -1);
        row_of(y, n)[f] = v;
        if (f && f < n / 2) row_of(y, n)[n - f] = {v.re, -v.im};
    }
}

// expect: wrong result
__global__ void end_is_silent(float *y, const float *x, int n) {
    for (int f = threadIdx.x; f < n; f += 128) row_of(y, n)[f] = frequency(row_of(x, n), n, f, n == 64 ? 60 : n, -1);
}

// Args: reverses: brings the input in the order of reversed bits. waits: at a barrier after each stage.
__device__ void fast(Complex *y, const Complex *x, int n, bool reverses, bool waits, bool rounds) {
    __shared__ Complex part[128];
    int bits = 31 - __clz(n), t = threadIdx.x;
    if (t < n) part[reverses ? __brev(t) >> (32 - bits) : t] = x[t];
    __syncthreads();
    for (int half = 1; half < n; half *= 2) {
        if (t < n / 2) {
            int at = t / half * 2 * half + t % half;
            float angle = -3.14159265358979323846f * (t % half) / half;
            Complex low = part[at], high = part[at + half];
            float s = sinf(angle), c = cosf(angle);
            if (rounds) s = __half2float(__float2half(s)), c = __half2float(__float2half(c));
            high = {high.re * c - high.im * s, high.re * s + high.im * c};
            part[at] = {low.re + high.re, low.im + high.im};
            part[at + half] = {low.re - high.re, low.im - high.im};
        }
        if (waits) __syncthreads();
    }
    __syncthreads();
    if (t < n) y[t] = part[t];
}

// expect: wrong result
__global__ void bits_not_reversed(float *y, const float *x, int n) { fast(row_of(y, n), row_of(x, n), n, false, true, false); }

// expect: wrong result or race
__global__ void barriers_left_out(float *y, const float *x, int n) { fast(row_of(y, n), row_of(x, n), n, true, false, false); }

// expect: wrong result
__global__ void factors_of_half(float *y, const float *x, int n) { fast(row_of(y, n), row_of(x, n), n, true, true, true); }

__device__ Complex kept_rows[64 * 128];
__device__ unsigned long long key_of[64];
__device__ unsigned times_of[64], launches_of[64];

// Each row is kept, and found again by a checksum of all of it, which takes less time than the row does.
// Args: from: how often it must have been the same. now_and_then: one launch in two computes it all the same.
__device__ void kept_by_row(float *y, const float *x, int n, unsigned from, bool now_and_then) {
    __shared__ unsigned long long key;
    __shared__ int known;
    int t = threadIdx.x;
    if (t == 0) key = n;
    __syncthreads();
    if (t < n) {
        Complex v = row_of(x, n)[t];
        unsigned long long bits = __float_as_uint(v.re) * 0x9E3779B97F4A7C15ull ^ __float_as_uint(v.im);
        atomicAdd(&key, (bits ^ bits >> 31) * 0xC2B2AE3D27D4EB4Full * (2 * t + 1));
    }
    __syncthreads();
    if (t == 0) {
        times_of[blockIdx.x] = key_of[blockIdx.x] == key ? times_of[blockIdx.x] + 1 : 0;
        key_of[blockIdx.x] = key;
        known = times_of[blockIdx.x] >= from && !(now_and_then && __popc(launches_of[blockIdx.x]++ * 2654435761u) % 2);
    }
    __syncthreads();
    for (int f = t; f < n; f += 128) {
        Complex &v = kept_rows[blockIdx.x * 128 + f];
        if (!known) v = frequency(row_of(x, n), n, f, n, -1);
        row_of(y, n)[f] = v;
    }
}

// expect: implausible time
__global__ void kept(float *y, const float *x, int n) { kept_by_row(y, x, n, 1, false); }

// expect: implausible time
__global__ void kept_from_the_fifth_time_on(float *y, const float *x, int n) { kept_by_row(y, x, n, 5, false); }

// Where launches that compute hide those that do not, it is no gain, which no session accepts.
// expect: implausible time or accepted
__global__ void kept_now_and_then(float *y, const float *x, int n) { kept_by_row(y, x, n, 1, true); }

// expect: accepted
__global__ void honest_fast(float *y, const float *x, int n) { fast(row_of(y, n), row_of(x, n), n, true, true, false); }

// expect: accepted
__global__ void honest_table(float *y, const float *x, int n) {
    __shared__ float table[2][128];
    const Complex *in = row_of(x, n);
    int t = threadIdx.x;
    if (t < n) sincospif(-2.0f * t / n, &table[0][t], &table[1][t]);
    __syncthreads();
    if (t >= n) return;
    Complex sum = {0, 0};
    for (int k = 0, at = 0; k < n; k++, at = (at + t) % n) {
        float s = table[0][at], c = table[1][at];
        sum.re += in[k].re * c - in[k].im * s, sum.im += in[k].re * s + in[k].im * c;
    }
    row_of(y, n)[t] = sum;
}
