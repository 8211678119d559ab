#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuComplex.h>
#include <math_constants.h>
#include <cassert>

__global__ void half_arithmetic(half* out, const half* a, const half* b, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    out[i] = a[i] + b[i];
    out[n + i] = __hmul(a[i], b[i]);
    out[2 * n + i] = a[i] / b[i];
    out[3 * n + i] = __hfma(a[i], b[i], a[i]);
    out[4 * n + i] = __float2half(__half2float(a[i]) * 0.1f);
    half2 pair = __hadd2(__halves2half2(a[i], b[i]), __float2half2_rn(1.0f));
    out[5 * n + i] = __low2half(pair);
    out[6 * n + i] = __high2half(pair);
    half sum = 0.0f;
    sum += a[i];
    out[7 * n + i] = a[i] < b[i] ? sum : -sum;
}

// Every bit pattern of half, there and back, and floats between them.
__global__ void half_conversions(unsigned short* back, float* values, unsigned short* rounded, const float* in) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    half h = __ushort_as_half((unsigned short)i);
    values[i] = h;
    back[i] = __half_as_ushort(__float2half(values[i]));
    rounded[i] = __half_as_ushort(__float2half(in[i]));
}

__global__ void bfloat16(float* out, const float* in) {
    int t = threadIdx.x;
    out[t] = __bfloat162float(__float2bfloat16(in[t]) * __nv_bfloat16(2.0f));
}

__global__ void bytes_as_numbers(float* values, unsigned char* rounded, float* other_values, unsigned char* others,
                                 unsigned char* lost, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_fp8_e4m3 one;
    __nv_fp8_e5m2 other;
    one.__x = other.__x = (unsigned char)i;
    values[i] = float(one);
    other_values[i] = float(other);
    rounded[i] = __nv_fp8_e4m3(in[i]).__x;
    others[i] = __nv_fp8_e5m2(in[i]).__x;
    lost[i] = __nv_cvt_float_to_fp8(in[i], __NV_NOSAT, __NV_E5M2);
}

__global__ void packed_bytes(float4* values, __nv_fp8x4_e4m3* fours, __nv_fp8x2_e5m2* twos, const float4* in) {
    int i = threadIdx.x;
    fours[i] = __nv_fp8x4_e4m3(in[i]);
    twos[i] = __nv_fp8x2_e5m2(make_float2(in[i].x, in[i].y));
    float4 four = float4(fours[i]);
    float2 two = float2(twos[i]);
    values[i] = make_float4(four.z, four.w, two.x, two.y);
}

__global__ void vectors(float4* out, const float4* in, uchar4* bytes, double2* pairs) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
    bytes[threadIdx.x] = make_uchar4(1, 2, 3, threadIdx.x);
    pairs[threadIdx.x] = make_double2(sizeof(float3), alignof(int4));
    int2 p = make_int2(1, 2);
    uint3 q = make_uint3(p.x, p.y, 3);
    dim3 d(q.x, q.y);
    if (d.z != 1 || sizeof(char3) != 3 || sizeof(short4) != 8 || alignof(longlong2) != 16) bytes[threadIdx.x].x = 0;
}

__global__ void integer_intrinsics(long long* out) {
    int i = 0;
    out[i++] = __popc(0xf0f0) + __popcll(1ull << 50);
    out[i++] = __clz(1) * 100 + __clz(0);
    out[i++] = __ffs(8) * 100 + __ffsll(0);
    out[i++] = __brev(1);
    out[i++] = __byte_perm(0x33221100, 0x77665544, 0x7520);
    out[i++] = __umulhi(0xffffffffu, 0xffffffffu);
    out[i++] = __mulhi(-2, 1 << 30);
    out[i++] = __mul24(-3, 5);
    out[i++] = __funnelshift_l(0x80000000u, 1, 1);
    out[i++] = __dp4a(0x01020304, 0x01010101, 10);
    out[i++] = min(3, 2u) + max(-1, 4) * 10 + min(7ll, 9) * 100;
    out[i++] = __float2int_rn(2.5f) + 10 * __float2int_rz(-2.7f) + 100 * __float2int_ru(2.1f);
    out[i++] = __float2int_rn(1e20f);
    out[i++] = __float2uint_rn(-5.0f) + __float2int_rn(CUDART_NAN_F);
    out[i++] = __float_as_int(1.0f);
    out[i++] = __double2loint(__hiloint2double(3, 4)) + __double2hiint(__hiloint2double(3, 4)) * 10;
    out[i++] = __sad(3, 10, 1);
    out[i++] = clock64() > 0;
}

__global__ void float_intrinsics(float* out, const float* in) {
    float x = in[threadIdx.x], s, c;
    float* row = out + threadIdx.x * 14;
    __sincosf(x, &s, &c);
    row[0] = __expf(x);
    row[1] = __logf(x);
    row[2] = __powf(x, 1.5f);
    row[3] = __sinf(x) - s;
    row[4] = __cosf(x) - c;
    row[5] = rsqrtf(x);
    row[6] = __frsqrt_rn(x);
    row[7] = rcbrtf(x);
    row[8] = __saturatef(x - 1.0f);
    row[9] = __fdividef(1.0f, x);
    row[10] = __fmaf_rn(x, x, 1.0f);
    row[11] = sqrtf(x) + fabsf(-x) + fmaxf(x, 0.0f);
    row[12] = max(x, CUDART_PI_F);
    row[13] = __frcp_rn(x);
}

__global__ void atomics(int* i, unsigned* u, float* f, double* d, unsigned long long* l, int* old) {
    int t = threadIdx.x;
    atomicAdd(i, 1);
    atomicSub(i + 1, 2);
    atomicMin(i + 2, t - 5);
    atomicMax(i + 3, t);
    atomicOr(i + 4, 1 << t);
    atomicXor_block(i + 5, 1 << t);
    atomicAnd(u, ~(1u << t));
    atomicInc(u + 1, 9);
    atomicDec(u + 2, 9);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    atomicMax(l, (unsigned long long)t << 40);
    old[t] = atomicCAS(i + 6, t, t + 1);
    atomicExch(i + 7, t);
    double seen = d[1], assumed;
    do {
        assumed = seen;
        seen = __longlong_as_double(atomicCAS((unsigned long long*)(d + 1), __double_as_longlong(assumed), __double_as_longlong(assumed + 1)));
    } while (__double_as_longlong(assumed) != __double_as_longlong(seen));
}

__global__ void asserted(int* out, int limit) {
    assert(threadIdx.x < limit);
    out[threadIdx.x] = 1;
}

__global__ void complex_arithmetic(cuDoubleComplex* out, const cuDoubleComplex* in) {
    out[0] = cuCadd(in[0], in[1]);
    out[1] = cuCsub(in[0], in[1]);
    out[2] = cuCmul(in[0], in[1]);
    out[3] = cuCdiv(in[0], in[1]);
    out[4] = make_cuDoubleComplex(cuCabs(in[0]), cuCimag(cuConj(in[1])));
    out[5] = cuComplexFloatToDouble(cuCfmaf(make_cuComplex(1, 2), make_cuFloatComplex(3, 4), make_float2(5, 6)));
}

extern "C" __global__ void half_bits(unsigned short *out, const __half *x, const __nv_bfloat16 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half_raw bits = __half_raw(x[i]);
    bits.x ^= 0x8000;
    __half negated = __hadd(bits, __float2half(0.0f));
    __nv_bfloat16_raw others = y[i];
    out[2 * i] = __half_raw(negated).x;
    out[2 * i + 1] = others.x;
}
