// Transposes a matrix of rows x columns, row-major. One element per thread.

__global__ void transpose(const float *input, float *output, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        // Neighbouring threads read neighbouring elements, but write a whole row apart.
        output[column * rows + row] = input[row * columns + column];
    }
}
