// Softmax of each row of a matrix, row-major. One row per thread, in three passes over it.

__global__ void softmax(const float *input, float *output, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    const float *x = input + (size_t)row * columns;
    float *y = output + (size_t)row * columns;

    // The largest element is taken off, so that no exponential overflows.
    float largest = x[0];
    for (int i = 1; i < columns; i++) {
        largest = fmaxf(largest, x[i]);
    }
    float sum = 0.0f;
    for (int i = 0; i < columns; i++) {
        sum += expf(x[i] - largest);
    }
    for (int i = 0; i < columns; i++) {
        y[i] = expf(x[i] - largest) / sum;
    }
}
