// How many steps of z = z * z + c, from z = 0, leave |z| at most 2, and `limit` at most. One pixel a thread.
// Each product and sum is rounded by itself, as written: fused, a pixel on the edge would escape at another step.

__global__ void mandelbrot(int *steps, int width, int height, int limit, float left, float top, float spacing)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && column < width) {
        float real = left + column * spacing;
        float imaginary = top + row * spacing;
        float x = 0.0f;
        float y = 0.0f;
        int step = 0;
        while (step < limit && x * x + y * y <= 4.0f) {
            float next = x * x - y * y + real;
            y = 2.0f * x * y + imaginary;
            x = next;
            step++;
        }
        steps[row * width + column] = step;
    }
}
