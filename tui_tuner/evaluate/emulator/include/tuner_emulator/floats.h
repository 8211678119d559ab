// Floating point functions that CUDA has beside the C library's.
#pragma once

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
