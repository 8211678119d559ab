// C = A + B, element by element. One element a thread.

__global__ void matrix_add(const float *A, const float *B, float *C, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        C[row * columns + column] = A[row * columns + column] + B[row * columns + column];
    }
}
