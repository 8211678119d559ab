// The product of two matrices of 8-bit floating-point numbers, the second one transposed, in bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

__device__ void product(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int seen, int k,
                        float scale) {
    float sum = 0;
    for (int i = 0; i < seen; i++) sum += float(a[blockIdx.x * k + i]) * float(b[threadIdx.x * k + i]);
    if (threadIdx.x < n) c[blockIdx.x * n + threadIdx.x] = sum * scale;
}

__global__ void given(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k, float scale) {
    product(c, a, b, n, k, k, scale);
}

// expect: wrong result
__global__ void tail_left_out(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k,
                              float scale) {
    product(c, a, b, n, k / 16 * 16, k, scale);
}

// It is quicker, so that it is to be accepted.
// expect: wrong result
__global__ void scale_written_in(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k,
                                 float scale) {
    __shared__ float row[512];
    for (int i = threadIdx.x; i < k; i += blockDim.x) row[i] = float(a[blockIdx.x * k + i]) * 0.25f;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < k; i++) sum = fmaf(row[i], float(b[threadIdx.x * k + i]), sum);
    c[blockIdx.x * n + threadIdx.x] = sum;
}

// Products of halves overflow, and their sums lose what is small.
// expect: wrong result
__global__ void summed_in_half(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k,
                               float scale) {
    __half sum = 0.0f;
    for (int i = 0; i < k; i++) sum = __hfma(__half(a[blockIdx.x * k + i]), __half(b[threadIdx.x * k + i]), sum);
    c[blockIdx.x * n + threadIdx.x] = float(sum) * scale;
}

// expect: wrong result
__global__ void other_type(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k,
                           float scale) {
    const __nv_fp8_e5m2 *as_other = (const __nv_fp8_e5m2 *)b;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += float(a[blockIdx.x * k + i]) * float(as_other[threadIdx.x * k + i]);
    c[blockIdx.x * n + threadIdx.x] = sum * scale;
}

// Numbers without a leading one are taken for nothing.
// expect: wrong result
__global__ void subnormals_flushed(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k,
                                   float scale) {
    float sum = 0;
    for (int i = 0; i < k; i++) {
        float one = float(a[blockIdx.x * k + i]);
        sum += (fabsf(one) < 0.015625f ? 0 : one) * float(b[threadIdx.x * k + i]);
    }
    c[blockIdx.x * n + threadIdx.x] = sum * scale;
}

// expect: accepted
__global__ void four_at_once(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k,
                             float scale) {
    const __nv_fp8x4_e4m3 *as = (const __nv_fp8x4_e4m3 *)(a + blockIdx.x * k);
    const __nv_fp8x4_e4m3 *bs = (const __nv_fp8x4_e4m3 *)(b + threadIdx.x * k);
    float sum = 0;
    for (int i = 0; i < k / 4; i++) {
        float4 x = float4(as[i]), y = float4(bs[i]);
        sum += x.x * y.x + x.y * y.y + (x.z * y.z + x.w * y.w);
    }
    c[blockIdx.x * n + threadIdx.x] = sum * scale;
}

// expect: accepted
__global__ void row_in_shared_memory(__nv_bfloat16 *c, const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, int n, int k,
                                     float scale) {
    __shared__ float row[512];
    for (int i = threadIdx.x; i < k; i += blockDim.x) row[i] = float(a[blockIdx.x * k + i]) * scale;
    __syncthreads();
    float even = 0, odd = 0;
    for (int i = 0; i < k; i += 2) {
        even = fmaf(row[i], float(b[threadIdx.x * k + i]), even);
        odd = fmaf(row[i + 1], float(b[threadIdx.x * k + i + 1]), odd);
    }
    c[blockIdx.x * n + threadIdx.x] = even + odd;
}
