// Kernels that reach what a device can do at most: bytes copied, read and written, and operations on numbers of each kind.

extern "C" __global__ void copy(float4* __restrict__ target, const float4* __restrict__ source, long long count)
{
    const long long first = (long long)blockIdx.x * blockDim.x * 4 + threadIdx.x;
    float4 held[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const long long at = first + (long long)i * blockDim.x;
        if (at < count) held[i] = source[at];
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const long long at = first + (long long)i * blockDim.x;
        if (at < count) target[at] = held[i];
    }
}

// One vector a thread: faster where there are hundreds of MiB, and slower where there are few.
extern "C" __global__ void copy_single(float4* __restrict__ target, const float4* __restrict__ source, long long count)
{
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) target[at] = source[at];
}

extern "C" __global__ void fill(float4* __restrict__ target, float value, long long count)
{
    const long long first = (long long)blockIdx.x * blockDim.x * 4 + threadIdx.x;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const long long at = first + (long long)i * blockDim.x;
        if (at < count) target[at] = make_float4(value, value, value, value);
    }
}

// Every array is read `rounds` times, each time by other blocks, past the L1 cache. No sum is what `never` is, but the
// compiler cannot know it.
extern "C" __global__ void read(
    float* __restrict__ sums, const float4* __restrict__ source, float never, int rounds, long long count)
{
    float sum = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        const long long block = (blockIdx.x + (long long)round * 7919) % gridDim.x;
        const long long first = block * blockDim.x * 4 + threadIdx.x;
        float4 held[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const long long at = first + (long long)i * blockDim.x;
            held[i] = at < count ? __ldcg(source + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) sum += held[i].x + held[i].y + held[i].z + held[i].w;
    }
    if (sum == never) sums[threadIdx.x] = sum;
}

// Eight independent chains hide the latency of each; the factor comes from outside, so nothing can be folded.
template <typename Number, typename Step>
__device__ __forceinline__ void chains(unsigned* sums, Number factor, int rounds, Step step)
{
    Number chain[8];
    #pragma unroll
    for (int c = 0; c < 8; ++c) chain[c] = (Number)(threadIdx.x + c);
    for (int round = 0; round < rounds; ++round) {
        #pragma unroll
        for (int repeat = 0; repeat < 8; ++repeat) {
            #pragma unroll
            for (int c = 0; c < 8; ++c) chain[c] = step(chain[c], factor);
        }
    }
    Number sum = chain[0];
    #pragma unroll
    for (int c = 1; c < 8; ++c) sum += chain[c];
    sums[(long long)blockIdx.x * blockDim.x + threadIdx.x] = (unsigned)sum;
}

struct MultiplyAdd
{
    template <typename Number>
    __device__ __forceinline__ Number operator()(Number a, Number b) const { return a * b + b; }
};

extern "C" __global__ void multiply_add(unsigned* __restrict__ sums, int factor, int rounds)
{
    chains<float>(sums, 1.0f / factor, rounds, MultiplyAdd());
}

extern "C" __global__ void multiply_add_double(unsigned* __restrict__ sums, int factor, int rounds)
{
    chains<double>(sums, 1.0 / factor, rounds, MultiplyAdd());
}

extern "C" __global__ void multiply_add_int(unsigned* __restrict__ sums, int factor, int rounds)
{
    chains<int>(sums, factor, rounds, MultiplyAdd());
}

// The packed ones by their instructions, whose names need no header. Where a device has none they do nothing.
struct PackedHalf
{
    __device__ __forceinline__ unsigned operator()(unsigned a, unsigned b) const
    {
#if __CUDA_ARCH__ >= 530
        asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(a) : "r"(b));
#endif
        return a;
    }
};

struct PackedBfloat
{
    __device__ __forceinline__ unsigned operator()(unsigned a, unsigned b) const
    {
#if __CUDA_ARCH__ >= 800
        asm volatile("fma.rn.bf16x2 %0, %0, %1, %1;" : "+r"(a) : "r"(b));
#endif
        return a;
    }
};

struct PackedBytes
{
    __device__ __forceinline__ unsigned operator()(unsigned a, unsigned b) const
    {
#if __CUDA_ARCH__ >= 610
        asm volatile("dp4a.s32.s32 %0, %1, %1, %0;" : "+r"(a) : "r"(b));
#endif
        return a;
    }
};

extern "C" __global__ void multiply_add_half(unsigned* __restrict__ sums, int factor, int rounds)
{
    chains<unsigned>(sums, factor, rounds, PackedHalf());
}

extern "C" __global__ void multiply_add_bfloat(unsigned* __restrict__ sums, int factor, int rounds)
{
    chains<unsigned>(sums, factor, rounds, PackedBfloat());
}

extern "C" __global__ void multiply_add_bytes(unsigned* __restrict__ sums, int factor, int rounds)
{
    chains<unsigned>(sums, factor, rounds, PackedBytes());
}
