// One Jacobi step for the Laplace equation on a grid of height x width, row-major, in OpenCL.
// Each inner point becomes the mean of its four neighbours; the border keeps its values.

__kernel void jacobi(__global const float *input, __global float *output, int height, int width)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= width || y >= height) {
        return;
    }
    int i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        output[i] = input[i];
    } else {
        output[i] = 0.25f * (input[i - 1] + input[i + 1] + input[i - width] + input[i + width]);
    }
}
