// Kernels that reach what a device can do at most: bytes moved, and multiply-adds in single precision.

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

// Eight independent chains hide the latency of each; the factor comes from outside, so nothing can be folded.
extern "C" __global__ void multiply_add(float* __restrict__ sums, float factor, int rounds)
{
    float chain[8];
    #pragma unroll
    for (int c = 0; c < 8; ++c) chain[c] = threadIdx.x + c;
    for (int round = 0; round < rounds; ++round) {
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            #pragma unroll
            for (int c = 0; c < 8; ++c) chain[c] = fmaf(chain[c], factor, factor);
        }
    }
    float sum = 0.0f;
    #pragma unroll
    for (int c = 0; c < 8; ++c) sum += chain[c];
    sums[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
