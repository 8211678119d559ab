// One step of diffusion on a grid: each inner cell becomes a mean of itself and its six neighbours, weighted; cells on
// the boundary stay. A thread walks through z_per_thread planes with vector_width neighbours along x.

#ifndef block_size_x
#define block_size_x 32
#endif
#ifndef block_size_y
#define block_size_y 8
#endif
#ifndef z_per_thread
#define z_per_thread 1
#endif
#ifndef vector_width
#define vector_width 1
#endif
#ifndef use_shared
#define use_shared 0
#endif
#ifndef block_order
#define block_order 0
#endif
#ifndef unroll_z
#define unroll_z 1
#endif
#ifndef streaming_store
#define streaming_store 0
#endif

#define CENTRE_WEIGHT 0.4f
#define NEIGHBOUR_WEIGHT 0.1f

constexpr int unrolled = unroll_z; // a pragma takes no macro

struct __align__(4 * vector_width) Vector {
    float at[vector_width];
};

struct Grid {
    int depth, height, width;

    __device__ bool holds(int z, int y, int x) const
    {
        return 0 <= z && z < depth && 0 <= y && y < height && 0 <= x && x < width;
    }

    __device__ bool on_boundary(int z, int y, int x) const
    {
        return z == 0 || z == depth - 1 || y == 0 || y == height - 1 || x == 0 || x == width - 1;
    }

    __device__ int index(int z, int y, int x) const
    {
        return (z * height + y) * width + x;
    }
};

// Neighbours along x; zeros outside of the grid.
__device__ Vector read(const float *cells, const Grid &grid, int z, int y, int x)
{
    Vector values = {};
    if (grid.width % vector_width == 0) {
        // Each vector is aligned, and lies inside or outside as a whole.
        if (grid.holds(z, y, x)) {
            values = *reinterpret_cast<const Vector *>(cells + grid.index(z, y, x));
        }
    } else {
#pragma unroll
        for (int v = 0; v < vector_width; v++) {
            if (grid.holds(z, y, x + v)) {
                values.at[v] = cells[grid.index(z, y, x + v)];
            }
        }
    }
    return values;
}

// With streaming_store the values leave the cache first, in favour of those that are read again.
__device__ void write(float *cells, const Grid &grid, int z, int y, int x, const Vector &values)
{
    float *first = cells + grid.index(z, y, x);
    if (grid.width % vector_width == 0) {
#if !streaming_store
        *reinterpret_cast<Vector *>(first) = values;
#elif vector_width == 4
        __stcs(reinterpret_cast<float4 *>(first), make_float4(values.at[0], values.at[1], values.at[2], values.at[3]));
#elif vector_width == 2
        __stcs(reinterpret_cast<float2 *>(first), make_float2(values.at[0], values.at[1]));
#else
        __stcs(first, values.at[0]);
#endif
    } else {
#pragma unroll
        for (int v = 0; v < vector_width; v++) {
            if (x + v < grid.width) {
                first[v] = values.at[v];
            }
        }
    }
}

// The block's place in the grid of blocks: those that start one after the other are neighbours along x, y or z.
__device__ uint3 block_position()
{
#if block_order == 0
    return blockIdx;
#else
    unsigned number = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
#if block_order == 1
    unsigned y = number % gridDim.y;
    number /= gridDim.y;
    return make_uint3(number % gridDim.x, y, number / gridDim.x);
#else
    unsigned z = number % gridDim.z;
    number /= gridDim.z;
    return make_uint3(number % gridDim.x, number / gridDim.x, z);
#endif
#endif
}

__global__ void __launch_bounds__(block_size_x * block_size_y)
stencil3d(const float *input, float *output, int depth, int height, int width)
{
    Grid grid = {depth, height, width};
    uint3 block = block_position();
    int x = (block.x * block_size_x + threadIdx.x) * vector_width;
    int y = block.y * block_size_y + threadIdx.y;
    int first = block.z * z_per_thread;
    int last = min(first + z_per_thread, depth);

    Vector below = read(input, grid, first - 1, y, x);
    Vector centre = read(input, grid, first, y, x);
#if use_shared
    // A plane of the block with a border; two, so that one is written while the other is still read.
    __shared__ Vector planes[2][block_size_y + 2][block_size_x + 2];
    int column = threadIdx.x + 1;
    int row = threadIdx.y + 1;
#endif

#pragma unroll unrolled
    for (int z = first; z < last; z++) {
        Vector above = read(input, grid, z + 1, y, x);
#if use_shared
        Vector (*plane)[block_size_x + 2] = planes[z % 2];
        plane[row][column] = centre;
        if (threadIdx.x == 0) {
            plane[row][0] = read(input, grid, z, y, x - vector_width);
        }
        if (threadIdx.x == block_size_x - 1) {
            plane[row][block_size_x + 1] = read(input, grid, z, y, x + vector_width);
        }
        if (threadIdx.y == 0) {
            plane[0][column] = read(input, grid, z, y - 1, x);
        }
        if (threadIdx.y == block_size_y - 1) {
            plane[block_size_y + 1][column] = read(input, grid, z, y + 1, x);
        }
        __syncthreads();
        Vector north = plane[row - 1][column];
        Vector south = plane[row + 1][column];
        float west = plane[row][column - 1].at[vector_width - 1];
        float east = plane[row][column + 1].at[0];
#else
        Vector north = read(input, grid, z, y - 1, x);
        Vector south = read(input, grid, z, y + 1, x);
        float west = grid.holds(z, y, x - 1) ? input[grid.index(z, y, x - 1)] : 0.0f;
        float east = grid.holds(z, y, x + vector_width) ? input[grid.index(z, y, x + vector_width)] : 0.0f;
#endif
        Vector result;
#pragma unroll
        for (int v = 0; v < vector_width; v++) {
            float left = v == 0 ? west : centre.at[v - 1];
            float right = v == vector_width - 1 ? east : centre.at[v + 1];
            float around = left + right + north.at[v] + south.at[v] + below.at[v] + above.at[v];
            float mean = CENTRE_WEIGHT * centre.at[v] + NEIGHBOUR_WEIGHT * around;
            result.at[v] = grid.on_boundary(z, y, x + v) ? centre.at[v] : mean;
        }
        if (grid.holds(z, y, x)) {
            write(output, grid, z, y, x, result);
        }
        below = centre;
        centre = above;
    }
}
