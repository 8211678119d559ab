// What host code in a project's headers names of cuBLASLt. Nothing here is defined: no kernel calls it.
#pragma once

#include "cublas_v2.h"

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDesc *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreference *cublasLtMatmulPreference_t;

extern "C" __attribute__((weak)) cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle);
extern "C" __attribute__((weak)) cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
