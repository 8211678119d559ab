// What kernels take from PyTorch's headers, which no compiler of device code has: types that sums are made in, numbers
// of half precision, views of tensors, loops over the threads of a grid, marks of functions.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

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

template <typename T> struct DefaultPtrTraits { using PtrType = T*; };
template <typename T> struct RestrictPtrTraits { using PtrType = T* __restrict__; };

template <typename T, int N, template <typename U> class Traits, typename index_t> struct TensorAccessor {
    typename Traits<T>::PtrType data_;
    const index_t *sizes_, *strides_;
    __device__ index_t size(index_t i) const { return sizes_[i]; }
    __device__ index_t stride(index_t i) const { return strides_[i]; }
    __device__ typename Traits<T>::PtrType data() const { return data_; }
    __device__ TensorAccessor<T, N - 1, Traits, index_t> operator[](index_t i) const {
        return {data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
    }
};
template <typename T, template <typename U> class Traits, typename index_t>
struct TensorAccessor<T, 1, Traits, index_t> {
    typename Traits<T>::PtrType data_;
    const index_t *sizes_, *strides_;
    __device__ index_t size(index_t i) const { return sizes_[i]; }
    __device__ index_t stride(index_t i) const { return strides_[i]; }
    __device__ typename Traits<T>::PtrType data() const { return data_; }
    __device__ T& operator[](index_t i) const { return data_[strides_[0] * i]; }
};

// As PyTorch lays it out: the address, the extents, and how far elements lie apart.
template <typename T, int N, template <typename U> class Traits = DefaultPtrTraits, typename index_t = int64_t>
struct GenericPackedTensorAccessor {
    typename Traits<T>::PtrType data_;
    index_t sizes_[N], strides_[N];
    __device__ index_t size(index_t i) const { return sizes_[i]; }
    __device__ index_t stride(index_t i) const { return strides_[i]; }
    __device__ typename Traits<T>::PtrType data() const { return data_; }
    __device__ decltype(auto) operator[](index_t i) const {
        return TensorAccessor<T, N, Traits, index_t>{data_, sizes_, strides_}[i];
    }
};
template <typename T, int N, template <typename U> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <typename T, int N, template <typename U> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <typename T, int N, template <typename U> class Traits = DefaultPtrTraits, typename index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, index_t>;
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
