// __nv_fp8_e4m3 and __nv_fp8_e5m2: bytes that hold a number, to and from which others are converted.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;

namespace tuner_emulator {

// Without infinities all numbers of the largest exponent are finite, but for the last, which is none.
template <int EXPONENT, int FRACTION, bool INFINITIES>
struct ByteCodec {
    static constexpr int ALL = (1 << EXPONENT) - 1, BIAS = ALL / 2, ONE = 1 << FRACTION;
    static constexpr int LARGEST = INFINITIES ? (ALL << FRACTION) - 1 : (ALL << FRACTION) + ONE - 2;

    static float decode(unsigned char bits) {
        int magnitude = bits & 0x7f, exponent = magnitude >> FRACTION, fraction = magnitude & (ONE - 1);
        float size = ldexpf(exponent ? ONE + fraction : fraction, (exponent ? exponent : 1) - BIAS - FRACTION);
        if (magnitude > LARGEST) size = INFINITIES && !fraction ? INFINITY : NAN;
        return bits & 0x80 ? -size : size;
    }

    static unsigned char encode(float x, bool saturates) {
        if (x != x) return 0x7f;
        int exponent = fabsf(x) < ldexpf(1, 1 - BIAS) ? 1 - BIAS : isinf(x) ? 128 : ilogbf(x);
        float steps = rintf(ldexpf(fabsf(x), FRACTION - exponent));
        int magnitude = exponent > BIAS + 1 ? LARGEST + 1 : ((exponent + BIAS) << FRACTION) + (int)steps - ONE;
        if (magnitude > LARGEST) magnitude = saturates ? LARGEST : INFINITIES ? ALL << FRACTION : 0x7f;
        return (unsigned char)(magnitude | (signbit(x) ? 0x80 : 0));
    }
};

template <class Codec>
struct ByteFloat {
    __nv_fp8_storage_t __x;

    ByteFloat() = default;  // trivial, as shared memory needs it
    explicit ByteFloat(float x) : __x(Codec::encode(x, true)) {}
    explicit ByteFloat(double x) : ByteFloat((float)x) {}
    explicit ByteFloat(int x) : ByteFloat((float)x) {}
    explicit ByteFloat(unsigned x) : ByteFloat((float)x) {}
    explicit ByteFloat(__half x) : ByteFloat((float)x) {}
    explicit ByteFloat(__nv_bfloat16 x) : ByteFloat((float)x) {}
    explicit operator float() const { return Codec::decode(__x); }
    explicit operator double() const { return Codec::decode(__x); }
    explicit operator __half() const { return Codec::decode(__x); }
    explicit operator __nv_bfloat16() const { return Codec::decode(__x); }
};

template <class Byte>
struct __attribute__((aligned(2))) BytePair {
    __nv_fp8x2_storage_t __x;

    BytePair() = default;
    explicit BytePair(float2 v) : __x((unsigned short)(Byte(v.x).__x | Byte(v.y).__x << 8)) {}
    explicit operator float2() const { return {part(0), part(8)}; }

private:
    float part(int shift) const {
        Byte one;
        one.__x = (unsigned char)(__x >> shift);
        return float(one);
    }
};

template <class Byte>
struct __attribute__((aligned(4))) ByteFour {
    __nv_fp8x4_storage_t __x;

    ByteFour() = default;
    explicit ByteFour(float4 v)
        : __x(Byte(v.x).__x | Byte(v.y).__x << 8 | Byte(v.z).__x << 16 | (unsigned)Byte(v.w).__x << 24) {}
    explicit operator float4() const { return {part(0), part(8), part(16), part(24)}; }

private:
    float part(int shift) const {
        Byte one;
        one.__x = (unsigned char)(__x >> shift);
        return float(one);
    }
};

using E4m3 = ByteCodec<4, 3, false>;
using E5m2 = ByteCodec<5, 2, true>;

}  // namespace tuner_emulator

using __nv_fp8_e4m3 = tuner_emulator::ByteFloat<tuner_emulator::E4m3>;
using __nv_fp8_e5m2 = tuner_emulator::ByteFloat<tuner_emulator::E5m2>;
using __nv_fp8x2_e4m3 = tuner_emulator::BytePair<__nv_fp8_e4m3>;
using __nv_fp8x2_e5m2 = tuner_emulator::BytePair<__nv_fp8_e5m2>;
using __nv_fp8x4_e4m3 = tuner_emulator::ByteFour<__nv_fp8_e4m3>;
using __nv_fp8x4_e5m2 = tuner_emulator::ByteFour<__nv_fp8_e5m2>;

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
    bool saturates = saturation == __NV_SATFINITE;
    return kind == __NV_E4M3 ? tuner_emulator::E4m3::encode(x, saturates) : tuner_emulator::E5m2::encode(x, saturates);
}
