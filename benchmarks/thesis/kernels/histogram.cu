// Counts how often each key from 0 to bins - 1 occurs; bins is at most 8192. One key a thread, counted straight in
// global memory.

__global__ void histogram(const int *keys, int *counts, int n, int bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&counts[keys[i]], 1);
    }
}
