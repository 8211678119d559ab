// half and half2.
#pragma once
#include <tuner_emulator/small_float.h>

namespace tuner_emulator {

struct HalfCodec {
    static float decode(unsigned short bits) {
        unsigned sign = (unsigned)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
        if (magnitude >= 0x7c00) return bits_of<float>(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
        // Read as a single with the same fields, the value is 2^-112 of itself, also where it is subnormal.
        return bits_of<float>(sign | bits_of<unsigned>(bits_of<float>(magnitude << 13) * 0x1p112f));
    }

    static unsigned short encode(float x) {
        unsigned word = bits_of<unsigned>(x), sign = word >> 16 & 0x8000, magnitude = word & 0x7fffffff;
        if (magnitude > 0x7f800000u) return (unsigned short)(sign | 0x7fff);
        if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00);
        if (magnitude < 0x38800000u) {  // subnormal: the addition rounds at 2^-24
            float rounded = bits_of<float>(magnitude) + 0.5f;
            return (unsigned short)(sign | (bits_of<unsigned>(rounded) - 0x3f000000u));
        }
        unsigned rebiased = magnitude - 0x38000000u;
        return (unsigned short)(sign | (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13);
    }
};

}  // namespace tuner_emulator

using __half = tuner_emulator::SmallFloat<tuner_emulator::HalfCodec>;
using __half2 = tuner_emulator::SmallPair<__half>;
using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

struct __half_raw {  // the bits alone, as what adds by atomicCAS has them
    unsigned short x;

    __half_raw() = default;
    __half_raw(__half v) : x(v.bits) {}
    operator __half() const { return __half::from_bits(x); }
};

TUNER_SMALL_FLOAT(__half, __half2, half, half2)

inline __half __float2half_rz(float x) {
    __half nearest = x;
    bool away = fabsf(float(nearest)) > fabsf(x);
    return away ? __half::from_bits(nearest.bits - 1) : nearest;
}
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __half2 __low2half2(__half2 v) { return {v.x, v.x}; }
inline __half2 __high2half2(__half2 v) { return {v.y, v.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
