// Each row, less its mean, over its standard deviation, times weight, plus bias. One row a thread.

__global__ void layer_norm(const float *x, const float *weight, const float *bias, float *y, int rows, int columns,
                           float epsilon)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float *from = x + (size_t)row * columns;
        float *to = y + (size_t)row * columns;
        float mean = 0.0f;
        for (int i = 0; i < columns; i++) {
            mean += from[i];
        }
        mean /= columns;
        float variance = 0.0f;
        for (int i = 0; i < columns; i++) {
            variance += (from[i] - mean) * (from[i] - mean);
        }
        variance /= columns;
        for (int i = 0; i < columns; i++) {
            to[i] = (from[i] - mean) / sqrtf(variance + epsilon) * weight[i] + bias[i];
        }
    }
}
