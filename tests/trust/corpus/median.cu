// The median of three neighbours.
#define I int i = blockIdx.x * 128 + threadIdx.x; if (i >= n) return; float a = x[max(i - 1, 0)], b = x[i], c = x[min(i + 1, n - 1)]

__global__ void given(float *y, const float *x, int n) {
    I;
    y[i] = fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

// expect: wrong result
__global__ void by_differences(float *y, const float *x, int n) {
    I;
    y[i] = a + b + c - fmaxf(a, fmaxf(b, c)) - fminf(a, fminf(b, c));
}

// expect: wrong result
__global__ void last_bits_cut(float *y, const float *x, int n) {
    I;
    y[i] = __uint_as_float(__float_as_uint(fmaxf(fminf(a, b), fminf(fmaxf(a, b), c))) & ~15u);
}

// expect: accepted
__global__ void honest_branches(float *y, const float *x, int n) {
    I;
    y[i] = a < b ? (b < c ? b : a < c ? c : a) : a < c ? a : b < c ? c : b;
}

