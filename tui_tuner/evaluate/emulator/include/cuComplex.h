// Complex numbers as CUDA's header of this name has them.
#pragma once

#include <tuner_emulator/device.h>

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

#define TUNER_COMPLEX(COMPLEX, REAL, MAKE, F)                                                                      \
    static inline REAL cuCreal##F(COMPLEX x) { return x.x; }                                                       \
    static inline REAL cuCimag##F(COMPLEX x) { return x.y; }                                                       \
    static inline COMPLEX cuConj##F(COMPLEX x) { return MAKE(x.x, -x.y); }                                         \
    static inline COMPLEX cuCadd##F(COMPLEX x, COMPLEX y) { return MAKE(x.x + y.x, x.y + y.y); }                   \
    static inline COMPLEX cuCsub##F(COMPLEX x, COMPLEX y) { return MAKE(x.x - y.x, x.y - y.y); }                   \
    static inline COMPLEX cuCmul##F(COMPLEX x, COMPLEX y)                                                          \
    {                                                                                                              \
        return MAKE(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);                                                 \
    }                                                                                                              \
    static inline COMPLEX cuCdiv##F(COMPLEX x, COMPLEX y)                                                          \
    {                                                                                                              \
        const REAL scale = std::fabs(y.x) + std::fabs(y.y);                                                        \
        const REAL a = x.x / scale, b = x.y / scale, c = y.x / scale, d = y.y / scale, square = c * c + d * d;     \
        return MAKE((a * c + b * d) / square, (b * c - a * d) / square);                                           \
    }                                                                                                              \
    static inline REAL cuCabs##F(COMPLEX x) { return std::hypot(x.x, x.y); }

TUNER_COMPLEX(cuFloatComplex, float, make_float2, f)
TUNER_COMPLEX(cuDoubleComplex, double, make_double2, )
#undef TUNER_COMPLEX

static inline cuFloatComplex make_cuFloatComplex(float x, float y) { return make_float2(x, y); }
static inline cuDoubleComplex make_cuDoubleComplex(double x, double y) { return make_double2(x, y); }
static inline cuComplex make_cuComplex(float x, float y) { return make_float2(x, y); }
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return make_double2(x.x, x.y); }
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) { return make_float2(float(x.x), float(x.y)); }
static inline cuFloatComplex cuCfmaf(cuFloatComplex x, cuFloatComplex y, cuFloatComplex d) { return cuCaddf(cuCmulf(x, y), d); }
static inline cuDoubleComplex cuCfma(cuDoubleComplex x, cuDoubleComplex y, cuDoubleComplex d) { return cuCadd(cuCmul(x, y), d); }
