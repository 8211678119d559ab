#pragma once
#include <tuner_emulator/device.h>

#define CUDA_VERSION 12000

// What host code in a project's headers names of the driver.
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_UNKNOWN = 999 } CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
extern "C" __attribute__((weak)) CUresult cuGetErrorString(CUresult error, const char **text);
extern "C" __attribute__((weak)) CUresult cuGetErrorName(CUresult error, const char **text);
