// Floating point functions that CUDA has beside the C library's.
#pragma once

#include <cfenv>

// The C library declares these names without defining them, so they are renamed.
#define __expf tuner_emulator::fast_expf
#define __exp10f tuner_emulator::fast_exp10f
#define __logf tuner_emulator::fast_logf
#define __log2f tuner_emulator::fast_log2f
#define __log10f tuner_emulator::fast_log10f
#define __powf tuner_emulator::fast_powf
#define __sinf tuner_emulator::fast_sinf
#define __cosf tuner_emulator::fast_cosf
#define __tanf tuner_emulator::fast_tanf
#define __tanhf tuner_emulator::fast_tanhf
#define __sincosf tuner_emulator::fast_sincosf

namespace tuner_emulator {

constexpr double PI = 3.14159265358979323846;

inline float fast_expf(float x) { return expf(x); }
inline float fast_exp10f(float x) { return exp10f(x); }
inline float fast_logf(float x) { return logf(x); }
inline float fast_log2f(float x) { return log2f(x); }
inline float fast_log10f(float x) { return log10f(x); }
inline float fast_powf(float x, float y) { return powf(x, y); }
inline float fast_sinf(float x) { return sinf(x); }
inline float fast_cosf(float x) { return cosf(x); }
inline float fast_tanf(float x) { return tanf(x); }
inline float fast_tanhf(float x) { return tanhf(x); }
inline void fast_sincosf(float x, float* sine, float* cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}

// The operands are read, and the result is written, while the processor rounds as asked.
template <int MODE, typename T, typename F> inline T rounded(F operation, T a, T b = 0, T c = 0) {
    const int before = fegetround();
    fesetround(MODE);
    volatile T x = a, y = b, z = c;
    volatile T result = operation(x, y, z);
    fesetround(before);
    return result;
}

}  // namespace tuner_emulator

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float saturate(float x) { return __saturatef(x); }

inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline double __drcp_rn(double x) { return 1.0 / x; }

#define TUNER_ROUNDED_BY(NAME, MODE, T, RESULT, PARAMETERS, ...)                                                   \
    inline T NAME PARAMETERS {                                                                                     \
        return tuner_emulator::rounded<MODE, T>([](T x, T y, T z) -> T { return RESULT; }, __VA_ARGS__);           \
    }
#define TUNER_ROUNDED(NAME, ...)                                                                                   \
    TUNER_ROUNDED_BY(NAME##_rd, FE_DOWNWARD, __VA_ARGS__)                                                          \
    TUNER_ROUNDED_BY(NAME##_ru, FE_UPWARD, __VA_ARGS__)                                                            \
    TUNER_ROUNDED_BY(NAME##_rz, FE_TOWARDZERO, __VA_ARGS__)
TUNER_ROUNDED(__fadd, float, x + y, (float a, float b), a, b)
TUNER_ROUNDED(__fsub, float, x - y, (float a, float b), a, b)
TUNER_ROUNDED(__fmul, float, x * y, (float a, float b), a, b)
TUNER_ROUNDED(__fdiv, float, x / y, (float a, float b), a, b)
TUNER_ROUNDED(__fmaf, float, fmaf(x, y, z), (float a, float b, float c), a, b, c)
TUNER_ROUNDED(__fsqrt, float, sqrtf(x), (float a), a)
TUNER_ROUNDED(__frcp, float, 1.0f / x, (float a), a)
TUNER_ROUNDED(__dadd, double, x + y, (double a, double b), a, b)
TUNER_ROUNDED(__dsub, double, x - y, (double a, double b), a, b)
TUNER_ROUNDED(__dmul, double, x * y, (double a, double b), a, b)
TUNER_ROUNDED(__ddiv, double, x / y, (double a, double b), a, b)
TUNER_ROUNDED(__fma, double, fma(x, y, z), (double a, double b, double c), a, b, c)
TUNER_ROUNDED(__dsqrt, double, sqrt(x), (double a), a)
TUNER_ROUNDED(__drcp, double, 1.0 / x, (double a), a)
#undef TUNER_ROUNDED
#undef TUNER_ROUNDED_BY

inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return (float)(1.0 / cbrt((double)x)); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float sinpif(float x) { return (float)sin(tuner_emulator::PI * fmod((double)x, 2.0)); }
inline float cospif(float x) { return (float)cos(tuner_emulator::PI * fmod((double)x, 2.0)); }
inline double sinpi(double x) { return sin(tuner_emulator::PI * fmod(x, 2.0)); }
inline double cospi(double x) { return cos(tuner_emulator::PI * fmod(x, 2.0)); }
inline void sincospif(float x, float* sine, float* cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}
inline float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
inline float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
inline float normcdff(float x) { return (float)(0.5 * erfc(-(double)x * 0.70710678118654752440)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
