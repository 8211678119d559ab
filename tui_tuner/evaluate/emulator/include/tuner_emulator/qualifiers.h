// CUDA's qualifiers as what g++ understands.
#pragma once

#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 12000
#define __CUDA_ARCH__ 700

#define __global__
#define __device__
#define __host__
#define __constant__ __attribute__((visibility("default")))  // a launch may fill it, by its name
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
// Without `inline`, which sources often add themselves and which may stand only once; hidden, so that a
// specialisation of a template is known to be the one that is called.
#define __forceinline__ __attribute__((always_inline, visibility("hidden")))
#define __assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#define __builtin_assume(condition) __assume(condition)

// Thread-local storage is one stretch of memory that the runtime can find and poison,
// whatever template or inline function the variables belong to. Extern declarations are
// rewritten before the compiler sees them.
#ifdef __SANITIZE_ADDRESS__
#define __shared__ static  // the compiler leaves gaps between variables of this kind alone
#else
#define __shared__ static thread_local
#endif

// Device code means PTX by `asm`, which is an error where a build keeps it: a header's function that nothing calls may
// have it. A loop, for no `else` belongs to it. The system's headers write `__asm__`.
namespace tuner_emulator {
__attribute__((error("the emulator cannot run inline PTX: use a CUDA GPU"))) void run_ptx();
}
#define asm for (tuner_emulator::run_ptx(); false;) __asm__
