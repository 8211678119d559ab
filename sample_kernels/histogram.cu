// Counts how often each of 256 values occurs. Every thread counts a few bytes, straight in global memory.

#ifndef items_per_thread
#define items_per_thread 1
#endif

__global__ void histogram(const unsigned char *data, unsigned int *counts, int n)
{
    int first = blockIdx.x * blockDim.x * items_per_thread + threadIdx.x;
    for (int item = 0; item < items_per_thread; item++) {
        int i = first + item * blockDim.x;
        if (i < n) {
            // Many threads want the same 256 counters at the same time.
            atomicAdd(&counts[data[i]], 1u);
        }
    }
}
