// What host code in a project's headers names of the CUDA runtime. Nothing here is defined: no kernel calls it.
#pragma once

#define TUNER_HOST extern "C" __attribute__((weak)) cudaError_t

enum cudaError_t {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevice = 101, cudaErrorNotReady = 600, cudaErrorNotSupported = 801, cudaErrorUnknown = 999
};
typedef cudaError_t cudaError;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
typedef struct cudaArray *cudaArray_t;
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor, multiProcessorCount;
    int maxThreadsPerMultiProcessor, regsPerMultiprocessor, l2CacheSize, memoryBusWidth;
    size_t totalConstMem, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxRegistersPerBlock = 12, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39, cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrCooperativeLaunch = 95, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 15
};
enum cudaLaunchAttributeID {
    cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    union {
        int cooperative, programmaticStreamSerializationAllowed;
        struct { unsigned x, y, z; } clusterDim;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

extern "C" __attribute__((weak)) const char *cudaGetErrorString(cudaError_t error);
extern "C" __attribute__((weak)) const char *cudaGetErrorName(cudaError_t error);
TUNER_HOST cudaGetLastError();
TUNER_HOST cudaPeekAtLastError();
TUNER_HOST cudaDeviceSynchronize();
TUNER_HOST cudaDeviceReset();
TUNER_HOST cudaSetDevice(int device);
TUNER_HOST cudaGetDevice(int *device);
TUNER_HOST cudaGetDeviceCount(int *count);
TUNER_HOST cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
TUNER_HOST cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
TUNER_HOST cudaMemGetInfo(size_t *free, size_t *total);
TUNER_HOST cudaFree(void *memory);
TUNER_HOST cudaFreeHost(void *memory);
TUNER_HOST cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
TUNER_HOST cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = 0);
TUNER_HOST cudaMemset(void *memory, int value, size_t bytes);
TUNER_HOST cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream = 0);
TUNER_HOST cudaStreamCreate(cudaStream_t *stream);
TUNER_HOST cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
TUNER_HOST cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
TUNER_HOST cudaStreamSynchronize(cudaStream_t stream);
TUNER_HOST cudaStreamDestroy(cudaStream_t stream);
TUNER_HOST cudaEventCreate(cudaEvent_t *event);
TUNER_HOST cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
TUNER_HOST cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
TUNER_HOST cudaEventSynchronize(cudaEvent_t event);
TUNER_HOST cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end);
TUNER_HOST cudaEventDestroy(cudaEvent_t event);
template <typename T> cudaError_t cudaMalloc(T **memory, size_t bytes);
template <typename T> cudaError_t cudaMallocHost(T **memory, size_t bytes, unsigned flags = 0);
template <typename T> cudaError_t cudaMallocManaged(T **memory, size_t bytes, unsigned flags = 1);
template <typename K> cudaError_t cudaFuncSetAttribute(K *kernel, cudaFuncAttribute attribute, int value);
template <typename K> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K *kernel, int threads, size_t bytes);
template <typename K> cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, K *kernel, const cudaLaunchConfig_t *config);
template <typename... P, typename... A> cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...values);

#undef TUNER_HOST
