// A star of radius 4 along each axis, as for the Laplacian in seismic imaging. The input has a margin of 4 on every
// side, so it is (nx + 8) * (ny + 8) * (nz + 8). One point a thread.

#define RADIUS 4

__global__ void stencil_3d(const float *input, const float *coefficients, float *output, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) {
        int line = nx + 2 * RADIUS;
        int plane = line * (ny + 2 * RADIUS);
        int centre = (z + RADIUS) * plane + (y + RADIUS) * line + x + RADIUS;
        float sum = coefficients[0] * input[centre];
        for (int r = 1; r <= RADIUS; r++) {
            sum += coefficients[r] * (input[centre - r] + input[centre + r] + input[centre - r * line]
                                      + input[centre + r * line] + input[centre - r * plane]
                                      + input[centre + r * plane]);
        }
        output[(z * ny + y) * nx + x] = sum;
    }
}
