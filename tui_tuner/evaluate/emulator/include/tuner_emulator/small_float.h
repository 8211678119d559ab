// 16-bit floating point in software: every operation is done in single precision and rounded.
#pragma once
#include "device.h"

namespace tuner_emulator {

template <class Codec>
struct SmallFloat {
    unsigned short bits;

    SmallFloat() = default;  // trivial, as shared memory needs it
    SmallFloat(float x) : bits(Codec::encode(x)) {}
    SmallFloat(double x) : SmallFloat((float)x) {}
    SmallFloat(int x) : SmallFloat((float)x) {}
    SmallFloat(unsigned x) : SmallFloat((float)x) {}
    SmallFloat(long x) : SmallFloat((float)x) {}
    SmallFloat(long long x) : SmallFloat((float)x) {}
    operator float() const { return Codec::decode(bits); }

    static SmallFloat from_bits(unsigned short bits) {
        SmallFloat x;
        x.bits = bits;
        return x;
    }

    SmallFloat operator-() const { return from_bits(bits ^ 0x8000); }
    SmallFloat& operator+=(SmallFloat b) { return *this = *this + b; }
    SmallFloat& operator-=(SmallFloat b) { return *this = *this - b; }
    SmallFloat& operator*=(SmallFloat b) { return *this = *this * b; }
    SmallFloat& operator/=(SmallFloat b) { return *this = *this / b; }

#define TUNER_OPERATOR(result, op) \
    friend result operator op(SmallFloat a, SmallFloat b) { return float(a) op float(b); }
    TUNER_OPERATOR(SmallFloat, +)
    TUNER_OPERATOR(SmallFloat, -)
    TUNER_OPERATOR(SmallFloat, *)
    TUNER_OPERATOR(SmallFloat, /)
    TUNER_OPERATOR(bool, <)
    TUNER_OPERATOR(bool, >)
    TUNER_OPERATOR(bool, <=)
    TUNER_OPERATOR(bool, >=)
    TUNER_OPERATOR(bool, ==)
    TUNER_OPERATOR(bool, !=)
#undef TUNER_OPERATOR
};

template <class Scalar>
struct __attribute__((aligned(4))) SmallPair {
    Scalar x, y;

    SmallPair() = default;
    SmallPair(Scalar x, Scalar y) : x(x), y(y) {}

#define TUNER_OPERATOR(op)                                                                              \
    friend SmallPair operator op(SmallPair a, SmallPair b) { return {a.x op b.x, a.y op b.y}; }         \
    SmallPair& operator op##=(SmallPair b) { return *this = *this op b; }
    TUNER_OPERATOR(+)
    TUNER_OPERATOR(-)
    TUNER_OPERATOR(*)
    TUNER_OPERATOR(/)
#undef TUNER_OPERATOR
    SmallPair operator-() const { return {-x, -y}; }
};

template <class Codec>
struct IsSmallFloat<SmallFloat<Codec>> { static constexpr bool value = true; };
template <class Scalar>
struct IsSmallFloat<SmallPair<Scalar>> { static constexpr bool value = true; };

}  // namespace tuner_emulator

// The intrinsics of one 16-bit type and its pair; `name` as in __float2half.
#define TUNER_SMALL_FLOAT(Scalar, Pair, name, pair)                                                     \
    inline Scalar __float2##name(float x) { return x; }                                                 \
    inline Scalar __float2##name##_rn(float x) { return x; }                                            \
    inline Scalar __double2##name(double x) { return x; }                                               \
    inline float __##name##2float(Scalar x) { return x; }                                               \
    TUNER_SMALL_INTEGER(Scalar, name, int, int)                                                         \
    TUNER_SMALL_INTEGER(Scalar, name, uint, unsigned)                                                   \
    TUNER_SMALL_INTEGER(Scalar, name, short, short)                                                     \
    TUNER_SMALL_INTEGER(Scalar, name, ushort, unsigned short)                                           \
    TUNER_SMALL_INTEGER(Scalar, name, ll, long long)                                                    \
    TUNER_SMALL_INTEGER(Scalar, name, ull, unsigned long long)                                          \
    inline unsigned short __##name##_as_ushort(Scalar x) { return x.bits; }                             \
    inline short __##name##_as_short(Scalar x) { return (short)x.bits; }                                \
    inline Scalar __ushort_as_##name(unsigned short x) { return Scalar::from_bits(x); }                 \
    inline Scalar __short_as_##name(short x) { return Scalar::from_bits((unsigned short)x); }           \
    inline Pair __##name##2##pair(Scalar x) { return {x, x}; }                                          \
    inline Pair __float2##pair##_rn(float x) { return {x, x}; }                                         \
    inline Pair __floats2##pair##_rn(float x, float y) { return {x, y}; }                               \
    inline Pair make_##pair(Scalar x, Scalar y) { return {x, y}; }                                      \
    TUNER_SMALL_ARITHMETIC(Scalar, Pair)                                                                \
    TUNER_SMALL_COMPARISON(Scalar, __heq, ==)                                                           \
    TUNER_SMALL_COMPARISON(Scalar, __hne, !=)                                                           \
    TUNER_SMALL_COMPARISON(Scalar, __hlt, <)                                                            \
    TUNER_SMALL_COMPARISON(Scalar, __hle, <=)                                                           \
    TUNER_SMALL_COMPARISON(Scalar, __hgt, >)                                                            \
    TUNER_SMALL_COMPARISON(Scalar, __hge, >=)                                                           \
    TUNER_SMALL_FUNCTION(Scalar, Pair, exp, expf(x))                                                    \
    TUNER_SMALL_FUNCTION(Scalar, Pair, exp2, exp2f(x))                                                  \
    TUNER_SMALL_FUNCTION(Scalar, Pair, log, logf(x))                                                    \
    TUNER_SMALL_FUNCTION(Scalar, Pair, log2, log2f(x))                                                  \
    TUNER_SMALL_FUNCTION(Scalar, Pair, sqrt, sqrtf(x))                                                  \
    TUNER_SMALL_FUNCTION(Scalar, Pair, rsqrt, rsqrtf(x))                                                \
    TUNER_SMALL_FUNCTION(Scalar, Pair, rcp, 1.0f / x)                                                   \
    TUNER_SMALL_FUNCTION(Scalar, Pair, sin, sinf(x))                                                    \
    TUNER_SMALL_FUNCTION(Scalar, Pair, cos, cosf(x))                                                    \
    TUNER_SMALL_FUNCTION(Scalar, Pair, floor, floorf(x))                                                \
    TUNER_SMALL_FUNCTION(Scalar, Pair, ceil, ceilf(x))

#define TUNER_SMALL_INTEGER(Scalar, name, integer, Integer)                                             \
    inline Scalar __##integer##2##name##_rn(Integer x) { return (float)x; }                             \
    inline Integer __##name##2##integer##_rn(Scalar x) { return tuner_emulator::to_integer<Integer>(rintf(float(x))); }\
    inline Integer __##name##2##integer##_rz(Scalar x) { return tuner_emulator::to_integer<Integer>(truncf(float(x))); }\
    inline Integer __##name##2##integer##_ru(Scalar x) { return tuner_emulator::to_integer<Integer>(ceilf(float(x))); }\
    inline Integer __##name##2##integer##_rd(Scalar x) { return tuner_emulator::to_integer<Integer>(floorf(float(x))); }

#define TUNER_SMALL_ARITHMETIC(Scalar, Pair)                                                            \
    inline Scalar __hadd(Scalar a, Scalar b) { return a + b; }                                          \
    inline Scalar __hsub(Scalar a, Scalar b) { return a - b; }                                          \
    inline Scalar __hmul(Scalar a, Scalar b) { return a * b; }                                          \
    inline Scalar __hdiv(Scalar a, Scalar b) { return a / b; }                                          \
    inline Scalar __hfma(Scalar a, Scalar b, Scalar c) { return fmaf(a, b, c); }                        \
    inline Scalar __hneg(Scalar a) { return -a; }                                                       \
    inline Scalar __habs(Scalar a) { return Scalar::from_bits(a.bits & 0x7fff); }                       \
    inline Scalar __hmin(Scalar a, Scalar b) { return min(float(a), float(b)); }                        \
    inline Scalar __hmax(Scalar a, Scalar b) { return max(float(a), float(b)); }                        \
    inline bool __hisnan(Scalar a) { return float(a) != float(a); }                                     \
    inline Pair __hadd2(Pair a, Pair b) { return a + b; }                                               \
    inline Pair __hsub2(Pair a, Pair b) { return a - b; }                                               \
    inline Pair __hmul2(Pair a, Pair b) { return a * b; }                                               \
    inline Pair __h2div(Pair a, Pair b) { return a / b; }                                               \
    inline Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
    inline Pair __hneg2(Pair a) { return -a; }                                                          \
    inline Pair __habs2(Pair a) { return {__habs(a.x), __habs(a.y)}; }                                  \
    inline Pair __hmin2(Pair a, Pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                \
    inline Pair __hmax2(Pair a, Pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                \
    inline float __low2float(Pair a) { return a.x; }                                                    \
    inline float __high2float(Pair a) { return a.y; }

#define TUNER_SMALL_COMPARISON(Scalar, name, op) \
    inline bool name(Scalar a, Scalar b) { return a op b; }

#define TUNER_SMALL_FUNCTION(Scalar, Pair, name, expression)                 \
    inline Scalar h##name(Scalar argument) {                                 \
        float x = argument;                                                  \
        return expression;                                                   \
    }                                                                        \
    inline Pair h2##name(Pair a) { return {h##name(a.x), h##name(a.y)}; }
