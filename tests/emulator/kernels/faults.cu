#include <stdio.h>
#include <stdlib.h>

__global__ void copy_shifted(float* out, const float* in, int n, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i + shift];
}
__global__ void write_at(float* out, int i) { out[i] = 1.0f; printf("written\n"); }
__global__ void one_byte_past(unsigned char* out, int n) { out[n] = 1; }
__global__ void endless(volatile int* out) { while (*out == 0) {} }
__global__ void split_barrier(int* out) {
    if (threadIdx.x < 16) __syncthreads();
    else __syncwarp();
    out[threadIdx.x] = 1;
}
__global__ void trapped(int*) { __trap(); }
__global__ void aborted(int*) { abort(); }
__global__ void left(int*) { exit(0); }
__global__ void divided(int* out, int zero) { out[0] = 7 / zero; }
__global__ void shared_overrun(int* out, int n) {
    extern __shared__ int s[];
    s[n] = 1;
    out[0] = s[n];
}
__global__ void misaligned(float4* out, float* in) { out[0] = *(float4*)(in + 1); }
