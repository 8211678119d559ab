// Root mean square normalisation of the rows of a matrix, as a language model's layers do it.
#include <cmath>
#include <cstdio>
#include <vector>

__global__ void rms_norm(float *out, const float *x, const float *weight, int rows, int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    int row = i / columns;
    float sum = 0.0f;
    for (int j = 0; j < columns; ++j)
        sum += x[row * columns + j] * x[row * columns + j];
    out[i] = x[i] / sqrtf(sum / columns + 1e-6f) * weight[i % columns];
}

int main()
{
    const int rows = 256, columns = 512;
    std::vector<float> x(rows * columns), weight(columns), out(rows * columns);
    for (int i = 0; i < rows * columns; ++i)
        x[i] = std::sin(0.1f * i);
    for (int j = 0; j < columns; ++j)
        weight[j] = 1.0f + 0.001f * j;

    float *d_out, *d_x, *d_weight;
    cudaMalloc(&d_out, out.size() * sizeof(float));
    cudaMalloc(&d_x, x.size() * sizeof(float));
    cudaMalloc(&d_weight, weight.size() * sizeof(float));
    cudaMemcpy(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_weight, weight.data(), weight.size() * sizeof(float), cudaMemcpyHostToDevice);

    const int threads = 256;
    rms_norm<<<(rows * columns + threads - 1) / threads, threads>>>(d_out, d_x, d_weight, rows, columns);

    cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%f\n", out[0]);
    return 0;
}
