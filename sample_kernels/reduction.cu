// Sum of a vector: each thread adds up a few elements, each block adds up its threads in shared memory,
// and its first thread adds the block's sum to the result, which starts at zero.

#ifndef block_size_x
#define block_size_x 256
#endif
#ifndef items_per_thread
#define items_per_thread 1
#endif

__global__ void reduction(const float *input, float *result, int n)
{
    __shared__ float partial[block_size_x];
    int first = blockIdx.x * block_size_x * items_per_thread + threadIdx.x;

    float sum = 0.0f;
    for (int item = 0; item < items_per_thread; item++) {
        int i = first + item * block_size_x;
        if (i < n) {
            sum += input[i];
        }
    }
    partial[threadIdx.x] = sum;
    __syncthreads();

    for (int stride = 1; stride < block_size_x; stride *= 2) {
        if (threadIdx.x % (2 * stride) == 0) {
            partial[threadIdx.x] += partial[threadIdx.x + stride];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(result, partial[0]);
    }
}
