// Each channel of each image with a filter of its own of SIDE by SIDE, zeros beyond the border; an image holds its
// channels one after the other. One element of the output a thread.

#define SIDE 7

__global__ void depthwise_convolution(const float *input, const float *filters, float *output, int images,
                                      int channels, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int plane = blockIdx.z;
    if (x < width && y < height) {
        int channel = plane % channels;
        float sum = 0.0f;
        for (int j = 0; j < SIDE; j++) {
            for (int i = 0; i < SIDE; i++) {
                int row = y + j - SIDE / 2;
                int column = x + i - SIDE / 2;
                if (row >= 0 && row < height && column >= 0 && column < width) {
                    sum += input[(plane * height + row) * width + column]
                           * filters[(channel * SIDE + j) * SIDE + i];
                }
            }
        }
        output[(plane * height + y) * width + x] = sum;
    }
}
