// Running sums of each of `rows` signals. A block walks along one signal, a block's width at a time.

__global__ void inclusive_scan(const float *input, float *output, int rows, int columns)
{
    __shared__ float sums[1024];
    const float *from = input + (size_t)blockIdx.x * columns;
    float *to = output + (size_t)blockIdx.x * columns;
    float before = 0.0f;
    for (int start = 0; start < columns; start += blockDim.x) {
        int i = start + threadIdx.x;
        sums[threadIdx.x] = i < columns ? from[i] : 0.0f;
        __syncthreads();
        for (int distance = 1; distance < blockDim.x; distance *= 2) {
            float left = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0.0f;
            __syncthreads();
            sums[threadIdx.x] += left;
            __syncthreads();
        }
        if (i < columns) {
            to[i] = before + sums[threadIdx.x];
        }
        before += sums[blockDim.x - 1];
        __syncthreads();
    }
}
