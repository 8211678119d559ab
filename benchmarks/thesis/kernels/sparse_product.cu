// y = A * x with A in compressed sparse rows: row r has the elements row_starts[r] to row_starts[r + 1] - 1 of columns
// and values, in no order. Few rows are very long, most are short. One row a thread.

__global__ void sparse_product(const int *row_starts, const int *columns, const float *values, const float *x, float *y,
                               int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int i = row_starts[row]; i < row_starts[row + 1]; i++) {
            sum += values[i] * x[columns[i]];
        }
        y[row] = sum;
    }
}
