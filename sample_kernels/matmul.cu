// C = A * B for square matrices of order n, row-major. One element of C per thread.

__global__ void matmul(const float *A, const float *B, float *C, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++) {
            // A and B are read from global memory n times each.
            sum += A[row * n + k] * B[k * n + column];
        }
        C[row * n + column] = sum;
    }
}
