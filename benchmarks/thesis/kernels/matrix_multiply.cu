// C = A * B, all row-major: A has m rows of k elements, B k rows of n. One element of C a thread.

__global__ void matrix_multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++) {
            sum += A[row * k + i] * B[i * n + column];
        }
        C[row * n + column] = sum;
    }
}
