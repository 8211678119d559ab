// Conversions with a rounding mode (integers saturate, NaN becomes 0, as on a GPU) and bit casts.
#pragma once

namespace tuner_emulator {

template <class Integer>
Integer to_integer(double x) {
    constexpr bool is_signed = Integer(-1) < Integer(0);
    constexpr double limit = 2.0 * double(1ull << (sizeof(Integer) * 8 - 1 - is_signed));
    constexpr Integer highest = is_signed ? Integer((1ull << (sizeof(Integer) * 8 - 1)) - 1) : Integer(-1);
    if (x != x) return 0;
    if (x >= limit) return highest;
    if (x < (is_signed ? -limit : 0.0)) return is_signed ? Integer(-highest - 1) : Integer(0);
    return (Integer)x;
}

template <class To, class From>
To bits_of(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits are kept one for one");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}

}  // namespace tuner_emulator

#define TUNER_ROUNDED(from, From, to, Integer)                                                              \
    inline Integer __##from##2##to##_rn(From x) { return tuner_emulator::to_integer<Integer>(rint((double)x)); }   \
    inline Integer __##from##2##to##_rz(From x) { return tuner_emulator::to_integer<Integer>(trunc((double)x)); }  \
    inline Integer __##from##2##to##_ru(From x) { return tuner_emulator::to_integer<Integer>(ceil((double)x)); }   \
    inline Integer __##from##2##to##_rd(From x) { return tuner_emulator::to_integer<Integer>(floor((double)x)); }
TUNER_ROUNDED(float, float, int, int)
TUNER_ROUNDED(float, float, uint, unsigned)
TUNER_ROUNDED(float, float, ll, long long)
TUNER_ROUNDED(float, float, ull, unsigned long long)
TUNER_ROUNDED(double, double, int, int)
TUNER_ROUNDED(double, double, uint, unsigned)
TUNER_ROUNDED(double, double, ll, long long)
TUNER_ROUNDED(double, double, ull, unsigned long long)
#undef TUNER_ROUNDED

inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline float __ll2float_rn(long long x) { return (float)x; }
inline float __ull2float_rn(unsigned long long x) { return (float)x; }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return (double)x; }
inline double __ull2double_rn(unsigned long long x) { return (double)x; }
inline float __double2float_rn(double x) { return (float)x; }

inline int __float_as_int(float x) { return tuner_emulator::bits_of<int>(x); }
inline unsigned __float_as_uint(float x) { return tuner_emulator::bits_of<unsigned>(x); }
inline float __int_as_float(int x) { return tuner_emulator::bits_of<float>(x); }
inline float __uint_as_float(unsigned x) { return tuner_emulator::bits_of<float>(x); }
inline long long __double_as_longlong(double x) { return tuner_emulator::bits_of<long long>(x); }
inline double __longlong_as_double(long long x) { return tuner_emulator::bits_of<double>(x); }
inline int __double2hiint(double x) { return (int)(tuner_emulator::bits_of<long long>(x) >> 32); }
inline int __double2loint(double x) { return (int)tuner_emulator::bits_of<long long>(x); }
inline double __hiloint2double(int high, int low) {
    return tuner_emulator::bits_of<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
