// __nv_bfloat16 and __nv_bfloat162.
#pragma once
#include <tuner_emulator/small_float.h>

namespace tuner_emulator {

struct Bfloat16Codec {
    static float decode(unsigned short bits) { return bits_of<float>((unsigned)bits << 16); }

    static unsigned short encode(float x) {
        unsigned word = bits_of<unsigned>(x);
        if (x != x) return 0x7fff;
        return (unsigned short)((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
};

}  // namespace tuner_emulator

using __nv_bfloat16 = tuner_emulator::SmallFloat<tuner_emulator::Bfloat16Codec>;
using __nv_bfloat162 = tuner_emulator::SmallPair<__nv_bfloat16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

struct __nv_bfloat16_raw {  // the bits alone, as what adds by atomicCAS has them
    unsigned short x;

    __nv_bfloat16_raw() = default;
    __nv_bfloat16_raw(__nv_bfloat16 v) : x(v.bits) {}
    operator __nv_bfloat16() const { return __nv_bfloat16::from_bits(x); }
};

TUNER_SMALL_FLOAT(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)

inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
