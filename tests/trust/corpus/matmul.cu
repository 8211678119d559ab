// C = A B, one element a thread.
#include <cuda_fp16.h>

#define PLACE int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y
#define INSIDE (x < n && y < n)

__global__ void given(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}

// expect: wrong result
__global__ void in_half(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += __half2float(__float2half(a[y * n + k])) * __half2float(__float2half(b[k * n + x]));
    c[y * n + x] = s;
}

// expect: wrong result
__global__ void small_left_out(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    for (int k = 0; k < n; k++)
        if (fabsf(a[y * n + k]) > 1e-20f) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}

// expect: wrong result
__global__ void tail_of_k(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    for (int k = 0; k < n / 4 * 4; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}

// expect: wrong result
__global__ void last_row_unwritten(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE || (n == 64 && y == 63)) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}

// expect: wrong result or race
__global__ void barrier_left_out(float *c, const float *a, const float *b, int n) {
    __shared__ float ta[16][16], tb[16][16];
    PLACE;
    float s = 0;
    for (int t = 0; t < n; t += 16) {
        int k = t + threadIdx.x, r = t + threadIdx.y;
        ta[threadIdx.y][threadIdx.x] = y < n && k < n ? a[y * n + k] : 0;
        tb[threadIdx.y][threadIdx.x] = x < n && r < n ? b[r * n + x] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) s += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    }
    if (INSIDE) c[y * n + x] = s;
}

// expect: illegal access
__global__ void misaligned_pairs(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    int k = 0;
    for (; k + 1 < n; k += 2) {
        float2 pair = *reinterpret_cast<const float2 *>(a + y * n + k);
        s += pair.x * b[k * n + x] + pair.y * b[(k + 1) * n + x];
    }
    if (k < n) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}

// expect: wrong result
__global__ void writes_its_input(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
    if (x == n - 1 && y == n - 1) const_cast<float *>(a)[0] = 0;
}

// expect: accepted
__global__ void honest_tiles(float *c, const float *a, const float *b, int n) {
    __shared__ float ta[16][16], tb[16][17];
    PLACE;
    float s = 0;
    for (int t = 0; t < n; t += 16) {
        int k = t + threadIdx.x, r = t + threadIdx.y;
        ta[threadIdx.y][threadIdx.x] = y < n && k < n ? a[y * n + k] : 0;
        tb[threadIdx.y][threadIdx.x] = x < n && r < n ? b[r * n + x] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) s = fmaf(ta[threadIdx.y][i], tb[i][threadIdx.x], s);
        __syncthreads();
    }
    if (INSIDE) c[y * n + x] = s;
}

// expect: accepted
__global__ void honest_four_sums(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s[4] = {0, 0, 0, 0};
    for (int k = 0; k < n; k++) s[k % 4] += a[y * n + k] * b[k * n + x];
    c[y * n + x] = (s[0] + s[1]) + (s[2] + s[3]);
}

// expect: accepted
__global__ void honest_backwards(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    double s = 0;
    for (int k = n - 1; k >= 0; k--) s += (double)a[y * n + k] * b[k * n + x];
    c[y * n + x] = (float)s;
}

// expect: wrong result
__global__ void transposed(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[x * n + k];
    c[y * n + x] = s;
}

// An output that holds a number is left as it is: right for as long as nothing but poison stands there.
// expect: wrong result
__global__ void there_already(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE || fabsf(c[y * n + x]) < INFINITY) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}

// expect: accepted
__global__ void honest_read_only(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0;
    for (int k = 0; k < n; k++) s = fmaf(__ldg(a + y * n + k), __ldg(b + k * n + x), s);
    c[y * n + x] = s;
}

// expect: accepted
__global__ void honest_unrolled(float *c, const float *a, const float *b, int n) {
    PLACE;
    if (!INSIDE) return;
    float s = 0, t = 0;
    int k = 0;
    for (; k + 1 < n; k += 2) {
        s += a[y * n + k] * b[k * n + x];
        t += a[y * n + k + 1] * b[(k + 1) * n + x];
    }
    if (k < n) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s + t;
}
