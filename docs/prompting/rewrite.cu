// C = A * B for square matrices of order n, row-major. Tiles of A and B go through shared memory.

__global__ void matmul(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[block_size_y][tile_k];
    __shared__ float b[tile_k][block_size_x];
    int column = blockIdx.x * block_size_x + threadIdx.x;
    int row = blockIdx.y * block_size_y + threadIdx.y;
    float sum = 0.0f;
    for (int start = 0; start < n; start += tile_k) {
        for (int k = threadIdx.x; k < tile_k; k += block_size_x) {
            a[threadIdx.y][k] = row < n && start + k < n ? A[row * n + start + k] : 0.0f;
        }
        for (int k = threadIdx.y; k < tile_k; k += block_size_y) {
            b[k][threadIdx.x] = start + k < n && column < n ? B[(start + k) * n + column] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < tile_k; k++) {
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        }
        __syncthreads();
    }
    if (row < n && column < n) {
        C[row * n + column] = sum;
    }
}
