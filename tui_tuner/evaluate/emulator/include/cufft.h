// What host code in a project's headers names of cuFFT. Nothing here is defined: no kernel calls it.
#pragma once

#include "cuComplex.h"
#include "library_types.h"

using cufftReal = float;
using cufftDoubleReal = double;
using cufftComplex = cuFloatComplex;
using cufftDoubleComplex = cuDoubleComplex;
using cufftHandle = int;
enum cufftResult { CUFFT_SUCCESS };
