// Rows of bfloat16 as 8-bit floating-point numbers with a scale for each row, of its largest magnitude, which is taken
// to be `bound` at most and `least` at least; what goes beyond the bound is the largest number there is.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

__device__ float largest_of_block(float v) {
    __shared__ float part[128];
    part[threadIdx.x] = v;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        float both = fmaxf(part[threadIdx.x], part[threadIdx.x ^ half]);
        __syncthreads();
        part[threadIdx.x] = both;
        __syncthreads();
    }
    return part[0];
}

// Fewer barriers: 32 at a time by shuffles, then the four of them.
__device__ float largest_by_shuffles(float v) {
    __shared__ float part[4];
    for (int half = 16; half; half /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, half));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    return fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
}

__device__ float largest_of_mine(const __nv_bfloat16 *x, int n) {
    float most = 0;
    for (int i = threadIdx.x; i < n; i += 128) most = fmaxf(most, fabsf(float(x[i])));
    return most;
}

#define ROW q += blockIdx.x * n, x += blockIdx.x * n, s += blockIdx.x

__global__ void given(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound, float least) {
    ROW;
    int each = (n + 127) / 128, from = threadIdx.x * each, to = from + each < n ? from + each : n;
    float most = 0;
    for (int i = from; i < to; i++) most = fmaxf(most, fabsf(float(x[i])));
    float scale = fmaxf(fminf(largest_of_block(most), bound), least) / 448.0f;
    if (threadIdx.x == 0) *s = scale;
    for (int i = from; i < to; i++) q[i] = __nv_fp8_e4m3(float(x[i]) / scale);
}

// expect: wrong result
__global__ void bound_left_out(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound, float least) {
    ROW;
    float scale = fmaxf(largest_by_shuffles(largest_of_mine(x, n)), least) / 448.0f;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n; i += 128) q[i] = __nv_fp8_e4m3(float(x[i]) / scale);
}

// Nothing over nothing in a row of zeros.
// expect: wrong result
__global__ void least_left_out(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound, float least) {
    ROW;
    float scale = fminf(largest_by_shuffles(largest_of_mine(x, n)), bound) / 448.0f;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n; i += 128) q[i] = __nv_fp8_e4m3(float(x[i]) / scale);
}

// Only long rows are searched in part; the numbers themselves are all written.
// expect: wrong result
__global__ void end_of_long_rows_not_searched(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound,
                                              float least) {
    ROW;
    float most = largest_by_shuffles(largest_of_mine(x, n > 512 ? n / 256 * 256 : n));
    float scale = fmaxf(fminf(most, bound), least) / 448.0f;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n; i += 128) q[i] = __nv_fp8_e4m3(float(x[i]) / scale);
}

// Two of the three bits behind the point.
// expect: wrong result
__global__ void fewer_bits(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound, float least) {
    ROW;
    float scale = fmaxf(fminf(largest_by_shuffles(largest_of_mine(x, n)), bound), least) / 448.0f, back = 1 / scale;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n; i += 128) {
        float coarse = float(__nv_fp8_e5m2(float(x[i]) * back));
        q[i] = __nv_fp8_e4m3(coarse);
    }
}

// What the last run left behind is taken for the scale.
// expect: wrong result
__global__ void scale_of_last_time(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound,
                                   float least) {
    ROW;
    float scale = *s;
    if (!(scale > 0 && scale < 1e30f)) {
        scale = fmaxf(fminf(largest_by_shuffles(largest_of_mine(x, n)), bound), least) / 448.0f;
        if (threadIdx.x == 0) *s = scale;
    }
    for (int i = threadIdx.x; i < n; i += 128) q[i] = __nv_fp8_e4m3(float(x[i]) / scale);
}

// The other warps don't wait for the first one.
// expect: wrong result
__global__ void barrier_left_out(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound, float least) {
    __shared__ float part[128];
    ROW;
    part[threadIdx.x] = largest_of_mine(x, n);
    __syncthreads();
    if (threadIdx.x < 32) {
        float most = fmaxf(fmaxf(part[threadIdx.x], part[threadIdx.x + 32]),
                           fmaxf(part[threadIdx.x + 64], part[threadIdx.x + 96]));
        for (int half = 16; half; half /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, half));
        if (threadIdx.x == 0) part[0] = most;
        __syncwarp();
    }
    float scale = fmaxf(fminf(part[0], bound), least) / 448.0f;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n; i += 128) q[i] = __nv_fp8_e4m3(float(x[i]) / scale);
}

// expect: accepted
__global__ void by_shuffles(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound, float least) {
    ROW;
    float scale = fmaxf(fminf(largest_by_shuffles(largest_of_mine(x, n)), bound), least) / 448.0f;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n; i += 128) q[i] = __nv_fp8_e4m3(float(x[i]) / scale);
}

// expect: accepted
__global__ void times_the_inverse(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound,
                                  float least) {
    ROW;
    float most = fmaxf(fminf(largest_by_shuffles(largest_of_mine(x, n)), bound), least), back = 448.0f / most;
    if (threadIdx.x == 0) *s = most * (1 / 448.0f);
    for (int i = threadIdx.x; i < n; i += 128) q[i] = __nv_fp8_e4m3(float(x[i]) * back);
}

// The largest in bfloat16, which loses nothing, and four numbers written at once.
// expect: accepted
__global__ void four_at_once(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound, float least) {
    ROW;
    const __nv_bfloat162 *two = (const __nv_bfloat162 *)x;
    __nv_fp8x4_e4m3 *four = (__nv_fp8x4_e4m3 *)q;
    __nv_bfloat162 most = __float2bfloat162_rn(0.0f);
    for (int i = threadIdx.x; i < n / 2; i += 128) most = __hmax2(most, __habs2(two[i]));
    float2 both = __bfloat1622float2(most);
    float scale = fmaxf(fminf(largest_by_shuffles(fmaxf(both.x, both.y)), bound), least) / 448.0f, back = 1 / scale;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n / 4; i += 128) {
        float2 a = __bfloat1622float2(two[2 * i]), b = __bfloat1622float2(two[2 * i + 1]);
        four[i] = __nv_fp8x4_e4m3(make_float4(a.x * back, a.y * back, b.x * back, b.y * back));
    }
}

// expect: accepted
__global__ void row_in_shared_memory(__nv_fp8_e4m3 *q, float *s, const __nv_bfloat16 *x, int n, float bound,
                                     float least) {
    __shared__ float row[1024];
    ROW;
    float most = 0;
    for (int i = threadIdx.x; i < n; i += 128) {
        row[i] = float(x[i]);
        most = fmaxf(most, fabsf(row[i]));
    }
    float scale = fmaxf(fminf(largest_by_shuffles(most), bound), least) / 448.0f;
    if (threadIdx.x == 0) *s = scale;
    for (int i = threadIdx.x; i < n; i += 128) {
        float v = row[i] / scale;
        q[i] = __nv_fp8_e4m3(v > 448.0f ? 448.0f : v < -448.0f ? -448.0f : v);
    }
}
