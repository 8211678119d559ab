// Cholesky factors of small matrices, a thread a matrix. A function makes the inputs, so that noise is all there is.
__device__ void factor(float *lower, const float *a, int k, bool clears) {
    for (int j = 0; j < k; j++) {
        float s = a[j * k + j];
        for (int p = 0; p < j; p++) s -= lower[j * k + p] * lower[j * k + p];
        float d = lower[j * k + j] = sqrtf(s);
        for (int i = 0; clears && i < j; i++) lower[i * k + j] = 0;
        for (int i = j + 1; i < k; i++) {
            float t = a[i * k + j];
            for (int p = 0; p < j; p++) t -= lower[i * k + p] * lower[j * k + p];
            lower[i * k + j] = t / d;
        }
    }
}

__global__ void given(float *lower, const float *a, int m, int k) {
    int b = blockIdx.x * 32 + threadIdx.x;
    if (b < m) factor(lower + b * k * k, a + b * k * k, k, true);
}

// expect: wrong result
__global__ void upper_half_unwritten(float *lower, const float *a, int m, int k) {
    int b = blockIdx.x * 32 + threadIdx.x;
    if (b < m) factor(lower + b * k * k, a + b * k * k, k, false);
}

__device__ float kept[64 * 144];
__device__ const float *kept_of[64];

// expect: wrong result
__global__ void kept_by_address(float *lower, const float *a, int m, int k) {
    int b = blockIdx.x * 32 + threadIdx.x;
    if (b >= m) return;
    lower += b * k * k, a += b * k * k;
    if (kept_of[b] != a) {
        factor(lower, a, k, true);
        for (int i = 0; i < k * k; i++) kept[b * 144 + i] = lower[i];
        kept_of[b] = a;
    }
    for (int i = 0; i < k * k; i++) lower[i] = kept[b * 144 + i];
}

// Column after column is taken off what is left, and roots are divided by their reciprocals.
// expect: accepted
__global__ void honest_right_looking(float *lower, const float *a, int m, int k) {
    int b = blockIdx.x * 32 + threadIdx.x;
    if (b >= m) return;
    float w[144];
    for (int i = 0; i < k * k; i++) w[i] = a[b * k * k + i];
    for (int j = 0; j < k; j++) {
        float r = rsqrtf(w[j * k + j]);
        for (int i = j; i < k; i++) w[i * k + j] *= r;
        for (int i = j + 1; i < k; i++)
            for (int p = j + 1; p <= i; p++) w[i * k + p] -= w[i * k + j] * w[p * k + j];
    }
    for (int i = 0; i < k * k; i++) lower[b * k * k + i] = i % k <= i / k ? w[i] : 0;
}
