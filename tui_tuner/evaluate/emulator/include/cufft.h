// What host code in a project's headers names of cuFFT. Nothing here is defined: no kernel calls it.
#pragma once

#include "cuComplex.h"
#include "library_types.h"

using cufftReal = float;
using cufftDoubleReal = double;
using cufftComplex = cuFloatComplex;
using cufftDoubleComplex = cuDoubleComplex;
using cufftHandle = int;
enum cufftResult {
    CUFFT_SUCCESS, CUFFT_INVALID_PLAN, CUFFT_ALLOC_FAILED, CUFFT_INVALID_TYPE, CUFFT_INVALID_VALUE, CUFFT_INTERNAL_ERROR,
    CUFFT_EXEC_FAILED, CUFFT_SETUP_FAILED, CUFFT_INVALID_SIZE, CUFFT_UNALIGNED_DATA, CUFFT_INVALID_DEVICE = 11,
    CUFFT_NO_WORKSPACE = 13, CUFFT_NOT_IMPLEMENTED = 14, CUFFT_NOT_SUPPORTED = 16
};
