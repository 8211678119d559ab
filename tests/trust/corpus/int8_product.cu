// The product of int8 matrices, the second one by its columns, with a scale a row and a scale a column.
#include <cuda_fp16.h>

#define TAKES float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth
#define PASSES c, a, b, of_row, of_column, n, depth

template <typename Sum, typename Add>
__device__ void product(TAKES, int seen, Add add) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= n || j >= n) return;
    Sum sum = 0;
    for (int k = 0; k < seen; k++) sum = add(sum, a[i * depth + k], b[j * depth + k]);
    c[i * n + j] = (float)sum * of_row[i] * of_column[j];
}

__device__ int whole(int sum, int a, int b) { return sum + a * b; }
__device__ int saturated(int sum, int a, int b) { return max(-32768, min(32767, sum + a * b)); }
__device__ int saturated_products(int sum, int a, int b) { return sum + max(-16256, min(16256, a * b)); }
__device__ int symmetric(int sum, int a, int b) { return sum + max(a, -127) * max(b, -127); }
__device__ int without_sign(int sum, int a, int b) { return sum + a * (b & 255); }
__device__ __half in_half(__half sum, int a, int b) { return __float2half(__half2float(sum) + a * b); }
__device__ float in_float(float sum, int a, int b) { return sum + a * b; }

__global__ void given(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<int>(PASSES, depth, whole); }

// expect: wrong result
__global__ void sum_wraps(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<short>(PASSES, depth, whole); }

// expect: wrong result
__global__ void sum_saturates(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<int>(PASSES, depth, saturated); }

// Right but for -128 times -128.
// expect: wrong result
__global__ void product_saturates(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<int>(PASSES, depth, saturated_products); }

// expect: wrong result
__global__ void least_is_127(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<int>(PASSES, depth, symmetric); }

// expect: wrong result
__global__ void second_without_sign(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<int>(PASSES, depth, without_sign); }

// expect: wrong result
__global__ void sum_of_half(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<__half>(PASSES, depth, in_half); }

// Four at a time, and what is over is left.
// expect: wrong result
__global__ void fours_only(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<int>(PASSES, depth / 4 * 4, whole); }

// expect: wrong result
__global__ void first_scale_for_all(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= n || j >= n) return;
    int sum = 0;
    for (int k = 0; k < depth; k++) sum += a[i * depth + k] * b[j * depth + k];
    c[i * n + j] = sum * of_row[i] * of_column[n == 48 ? 0 : j];
}

// expect: wrong result
__global__ void scale_of_half(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= n || j >= n) return;
    int sum = 0;
    for (int k = 0; k < depth; k++) sum += a[i * depth + k] * b[j * depth + k];
    c[i * n + j] = sum * __half2float(__float2half(of_row[i] * of_column[j]));
}

// Exact, since no sum is of more than 24 bits.
// expect: accepted
__global__ void honest_float(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) { product<float>(PASSES, depth, in_float); }

// expect: accepted
__global__ void honest_fours(float *c, const signed char *a, const signed char *b, const float *of_row, const float *of_column, int n, int depth) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x, sum = 0;
    if (i >= n || j >= n) return;
    int k = 0;
    if (depth % 4 == 0)
        for (; k < depth; k += 4) {
            int four = *(const int *)(a + i * depth + k), others = *(const int *)(b + j * depth + k);
            for (int d = 0; d < 32; d += 8) sum += (signed char)(four >> d) * (signed char)(others >> d);
        }
    for (; k < depth; k++) sum += a[i * depth + k] * b[j * depth + k];
    c[i * n + j] = of_column[j] * (of_row[i] * sum);
}
