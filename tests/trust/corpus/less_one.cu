// The exponential of each element less one, which is the element itself where that is small.
#define ELEMENT                                \
    int i = blockIdx.x * 128 + threadIdx.x;    \
    if (i >= n) return;                        \
    float v = x[i]

__global__ void given(float *y, const float *x, int n) {
    ELEMENT;
    y[i] = expm1f(v);
}

// expect: wrong result
__global__ void one_taken_off(float *y, const float *x, int n) {
    ELEMENT;
    y[i] = expf(v) - 1;
}

// Right of usual numbers and of tiny ones, and of few bits between them.
// expect: wrong result
__global__ void one_taken_off_between(float *y, const float *x, int n) {
    ELEMENT;
    float t = tanhf(0.5f * v);
    y[i] = fabsf(v) < 1e-10f ? v : fabsf(v) < 1 ? (1 + t) / (1 - t) - 1 : expm1f(v);
}

// expect: accepted
__global__ void honest_tangent(float *y, const float *x, int n) {
    ELEMENT;
    float t = tanhf(0.5f * v);
    y[i] = fabsf(v) < 0.5f ? 2 * t / (1 - t) : expf(v) - 1;
}
