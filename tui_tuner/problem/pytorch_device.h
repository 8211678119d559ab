// What kernels take from PyTorch's headers, which no compiler of device code has: types that sums are made in, numbers
// of half precision, loops over the threads of a grid, marks of functions.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>

namespace c10 {
using Half = __half;
using BFloat16 = __nv_bfloat16;
}  // namespace c10

namespace at {
using c10::BFloat16;
using c10::Half;

template <typename T> struct OpMathType { using type = T; };
template <> struct OpMathType<Half> { using type = float; };
template <> struct OpMathType<BFloat16> { using type = float; };
template <typename T> using opmath_type = typename OpMathType<T>::type;

template <typename T, bool is_cuda> struct AccumulateType { using type = opmath_type<T>; };
template <bool is_cuda> struct AccumulateType<char, is_cuda> { using type = int64_t; };
template <bool is_cuda> struct AccumulateType<signed char, is_cuda> { using type = int64_t; };
template <bool is_cuda> struct AccumulateType<unsigned char, is_cuda> { using type = int64_t; };
template <bool is_cuda> struct AccumulateType<short, is_cuda> { using type = int64_t; };
template <bool is_cuda> struct AccumulateType<int, is_cuda> { using type = int64_t; };
template <> struct AccumulateType<float, false> { using type = double; };
template <typename T, bool is_cuda> using acc_type = typename AccumulateType<T, is_cuda>::type;
}  // namespace at

namespace torch {
using namespace at;
}

#define C10_HOST __host__
#define C10_DEVICE __device__
#define C10_HOST_DEVICE __host__ __device__
#define C10_RESTRICT __restrict__
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define CUDA_KERNEL_ASSERT(condition)
#ifndef CUDA_KERNEL_LOOP_TYPE
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_t)                                                              \
    for (int64_t i##_of_grid = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i##_of_grid < (n);         \
         i##_of_grid += (int64_t)blockDim.x * gridDim.x)                                                  \
        for (index_t i = (index_t)i##_of_grid, i##_once = 1; i##_once; i##_once = 0)
#endif
#ifndef CUDA_KERNEL_LOOP
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#endif

template <typename T> __device__ inline T gpuAtomicAdd(T* address, T value) { return atomicAdd(address, value); }
template <typename T> __device__ inline void gpuAtomicAddNoReturn(T* address, T value) { atomicAdd(address, value); }
