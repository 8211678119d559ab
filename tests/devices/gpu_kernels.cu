// Kernels for the tests on a GPU: well-behaved ones, and each kind of misbehaviour that a device must survive.

#include <cuda_bf16.h>
#include <cuda_fp8.h>

__device__ int launches_so_far = 0;

extern "C" __global__ void add_one(float* values, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += 1.0f;
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void read_at(float* out, const float* in, int index) { out[0] = in[index]; }

extern "C" __global__ void write_at(float* out, int index) { out[index] = 42.0f; }

extern "C" __global__ void misaligned(float* out)
{
    *reinterpret_cast<float4*>(out + 1) = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
}

extern "C" __global__ void trap(float* out)
{
    out[0] = 1.0f;
    asm volatile("trap;");
}

extern "C" __global__ void __launch_bounds__(32) at_most_32_threads(float* out) { out[threadIdx.x] = 1.0f; }

extern "C" __global__ void reverse_in_shared(float* values, int n)
{
    extern __shared__ float held[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) held[i] = values[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = held[n - 1 - i];
}

extern "C" __global__ void count_launches(int* out)
{
    launches_so_far += 1;
    out[0] = launches_so_far;
}

// One block only, so that launches can be counted.
extern "C" __global__ void skip_every_seventh(float* values, int n)
{
    if (launches_so_far % 7 != 6)
        for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] += 1.0f;
    __syncthreads();
    if (threadIdx.x == 0) launches_so_far += 1;
}

// Values that are right, and bits that are others in every launch.
extern "C" __global__ void add_nearly_one(float* values, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] += 1.0f + 1e-6f * (launches_so_far % 1000);
    __syncthreads();
    if (threadIdx.x == 0) launches_so_far += 1;
}

struct Structure { signed char mark; double by; float4 four; };

extern "C" __global__ void show_structures(double* out, signed char before, Structure held, float after)
{
    out[0] = held.mark + held.by + held.four.w;
    out[1] = before + after;
}

struct Behind { long long n; const float* from; float* to; };

extern "C" __global__ void copy_behind(Behind held, float more)
{
    if (threadIdx.x < held.n) held.to[threadIdx.x] = held.from[threadIdx.x] + more;
}

extern "C" __global__ void show_bits(unsigned short* out, unsigned short half_bits, bool flag, double number,
                                     __nv_bfloat16 brain, __nv_fp8_e4m3 byte)
{
    out[3] = __bfloat16_as_ushort(brain);
    out[4] = byte.__x;
    out[0] = half_bits;
    out[1] = flag;
    out[2] = (unsigned short)number;
}

__constant__ float weights[4];
static __constant__ float offset;

extern "C" __global__ void weighted(float* values) { values[threadIdx.x] = weights[threadIdx.x] + offset; }
