// output = transpose of input, which has `rows` rows of `columns` elements. One element a thread.

__global__ void matrix_transpose(const float *input, float *output, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        output[column * rows + row] = input[row * columns + column];
    }
}
