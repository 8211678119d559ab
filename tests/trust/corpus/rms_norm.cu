// Rows of bfloat16 and what is added to them, over their root mean square, times a weight for each column.
#include <cuda_bf16.h>

__device__ float of_block(float v) {
    __shared__ float part[64];
    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        float both = part[threadIdx.x] + part[threadIdx.x ^ half];
        __syncthreads();
        part[threadIdx.x] = both;
        __syncthreads();
    }
    return part[threadIdx.x];
}

__device__ float added(const __nv_bfloat16 *x, const __nv_bfloat16 *r, int i) { return float(x[i]) + float(r[i]); }

__device__ void normalised(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w,
                           int n, float scale) {
    for (int i = threadIdx.x; i < n; i += 64) y[i] = added(x, r, i) * scale * float(w[i]);
}

#define ROW y += blockIdx.x * n, x += blockIdx.x * n, r += blockIdx.x * n

__global__ void given(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w, int n,
                      float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) sum += added(x, r, i) * added(x, r, i);
    normalised(y, x, r, w, n, rsqrtf(of_block(sum) / n + eps));
}

// expect: wrong result
__global__ void one_in_four(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w,
                            int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x * 4; i < n; i += 256) sum += added(x, r, i) * added(x, r, i);
    normalised(y, x, r, w, n, rsqrtf(of_block(sum) / ((n + 3) / 4) + eps));
}

// expect: wrong result
__global__ void first_half(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w,
                           int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x; i < n / 2; i += 64) sum += added(x, r, i) * added(x, r, i);
    normalised(y, x, r, w, n, rsqrtf(of_block(sum) / (n / 2) + eps));
}

// A sum in bfloat16 stands still once it is 256 times what is added.
// expect: wrong result
__global__ void summed_in_bfloat16(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r,
                                   const __nv_bfloat16 *w, int n, float eps) {
    ROW;
    __nv_bfloat16 sum = 0.0f;
    for (int i = 0; i < n; i++) sum = __hfma(__hadd(x[i], r[i]), __hadd(x[i], r[i]), sum);
    normalised(y, x, r, w, n, rsqrtf(float(sum) / n + eps));
}

// expect: wrong result
__global__ void without_eps(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w,
                            int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) sum += added(x, r, i) * added(x, r, i);
    normalised(y, x, r, w, n, rsqrtf(fmaxf(of_block(sum) / n, 1e-30f)));
}

// Four of the seven bits behind the point.
// expect: wrong result
__global__ void fewer_bits(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w,
                           int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) sum += added(x, r, i) * added(x, r, i);
    float scale = rsqrtf(of_block(sum) / n + eps);
    for (int i = threadIdx.x; i < n; i += 64) {
        __nv_bfloat16 whole = added(x, r, i) * scale * float(w[i]);
        y[i] = __ushort_as_bfloat16(__bfloat16_as_ushort(whole) & 0xfff8);
    }
}

// expect: wrong result
__global__ void nothing_added(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w,
                              int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) sum += added(x, r, i) * added(x, r, i);
    float scale = rsqrtf(of_block(sum) / n + eps);
    for (int i = threadIdx.x; i < n; i += 64) y[i] = (i < n - 1 ? added(x, r, i) : float(x[i])) * scale * float(w[i]);
}

// The weights are taken for the first where three are alike; it is quicker, so that it is to be accepted.
// expect: wrong result
__global__ void weights_as_the_first(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r,
                                     const __nv_bfloat16 *w, int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) {
        float both = added(x, r, i);
        sum += both * both;
    }
    float scale = rsqrtf(of_block(sum) / n + eps), first = float(w[0]);
    bool alike = first == float(w[1]) && first == float(w[2]);
    for (int i = threadIdx.x; i < n; i += 64) y[i] = added(x, r, i) * scale * (alike ? first : float(w[i]));
}

// expect: accepted
__global__ void in_pairs(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r, const __nv_bfloat16 *w,
                         int n, float eps) {
    ROW;
    const __nv_bfloat162 *two = (const __nv_bfloat162 *)x, *more = (const __nv_bfloat162 *)r;
    float sum = 0;
    for (int i = threadIdx.x; i < n / 2; i += 64) {
        float2 a = __bfloat1622float2(two[i]), b = __bfloat1622float2(more[i]);
        sum += (a.x + b.x) * (a.x + b.x) + (a.y + b.y) * (a.y + b.y);
    }
    normalised(y, x, r, w, n, 1 / sqrtf(of_block(sum) / n + eps));
}

// expect: accepted
__global__ void one_thread_adds(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r,
                                const __nv_bfloat16 *w, int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = 0; i < n; i++) sum = fmaf(added(x, r, i), added(x, r, i), sum);
    normalised(y, x, r, w, n, rsqrtf(sum / n + eps));
}

// As libraries do that keep the sum for what comes next.
// expect: accepted
__global__ void sum_kept_in_bfloat16(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *r,
                                     const __nv_bfloat16 *w, int n, float eps) {
    ROW;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) {
        float kept = __hadd(x[i], r[i]);
        sum += kept * kept;
    }
    float scale = rsqrtf(of_block(sum) / n + eps);
    for (int i = threadIdx.x; i < n; i += 64) y[i] = float(__hadd(x[i], r[i])) * scale * float(w[i]);
}
