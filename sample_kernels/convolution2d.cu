// Filters an image with a square filter, one output pixel per thread.
// The input has a border of half a filter on each side, so that every output pixel has all its neighbours.

#define FILTER 15

__global__ void convolution2d(const float *input, const float *filter, float *output, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int input_width = width + FILTER - 1;
    if (x < width && y < height) {
        float sum = 0.0f;
        for (int i = 0; i < FILTER; i++) {
            for (int j = 0; j < FILTER; j++) {
                sum += input[(y + i) * input_width + x + j] * filter[i * FILTER + j];
            }
        }
        output[y * width + x] = sum;
    }
}
