// Filters an image with a square filter; each thread computes tile_size_y rows of tile_size_x output pixels.
// The input has a border of half a filter on each side, so that every output pixel has all its neighbours.

#define FILTER 15

#ifndef block_size_x
#define block_size_x 16
#endif
#ifndef block_size_y
#define block_size_y 16
#endif
#ifndef tile_size_x
#define tile_size_x 1
#endif
#ifndef tile_size_y
#define tile_size_y 1
#endif
#ifndef interleaved
#define interleaved 0
#endif
#ifndef use_shared
#define use_shared 0
#endif
#ifndef use_padding
#define use_padding 0
#endif
#ifndef filter_in_shared
#define filter_in_shared 0
#endif
#ifndef read_only
#define read_only 0
#endif
#ifndef unroll_rows
#define unroll_rows 1
#endif

constexpr int unrolled = unroll_rows; // a pragma takes no macro
constexpr int columns = block_size_x * tile_size_x;
constexpr int rows = block_size_y * tile_size_y;
#if use_shared
constexpr int input_columns = columns + FILTER - 1;
constexpr int input_rows = rows + FILTER - 1;
// With it, the rows of a block that share a warp begin at different banks.
constexpr int padding = use_padding ? (block_size_x + 32 - input_columns % 32) % 32 : 0;
constexpr int stride = input_columns + padding;
#endif
#if use_shared || filter_in_shared
constexpr int threads = block_size_x * block_size_y;
#endif

__device__ float load(const float *address)
{
    return read_only ? __ldg(address) : *address;
}

// The columns of a thread are neighbours, or a block's width apart.
__device__ int column_in_tile(int t)
{
    return interleaved ? t * block_size_x + threadIdx.x : threadIdx.x * tile_size_x + t;
}

__global__ void __launch_bounds__(block_size_x * block_size_y)
convolution2d_tiled(const float *input, const float *filter, float *output, int height, int width)
{
    int input_width = width + FILTER - 1;
    int first_x = blockIdx.x * columns;
    int first_y = blockIdx.y * rows;

#if use_shared || filter_in_shared
    int thread = threadIdx.y * block_size_x + threadIdx.x;
#endif
#if filter_in_shared
    __shared__ float weights[FILTER * FILTER];
    for (int i = thread; i < FILTER * FILTER; i += threads) {
        weights[i] = load(filter + i);
    }
#endif
#if use_shared
    __shared__ float tile[input_rows * stride];
    for (int i = thread; i < input_rows * input_columns; i += threads) {
        int y = first_y + i / input_columns;
        int x = first_x + i % input_columns;
        bool inside = y < height + FILTER - 1 && x < input_width;
        tile[i / input_columns * stride + i % input_columns] = inside ? load(input + y * input_width + x) : 0.0f;
    }
#endif
#if use_shared || filter_in_shared
    __syncthreads();
#endif

    float sums[tile_size_y][tile_size_x] = {};
#pragma unroll unrolled
    for (int i = 0; i < FILTER; i++) {
        float weight[FILTER];
#pragma unroll
        for (int j = 0; j < FILTER; j++) {
#if filter_in_shared
            weight[j] = weights[i * FILTER + j];
#else
            weight[j] = load(filter + i * FILTER + j);
#endif
        }
#pragma unroll
        for (int s = 0; s < tile_size_y; s++) {
            int y = s * block_size_y + threadIdx.y;
#pragma unroll
            for (int t = 0; t < tile_size_x; t++) {
                int x = column_in_tile(t);
#if use_shared
                const float *inputs = tile + (y + i) * stride + x;
#else
                // Pixels outside of the image read what the last one inside needs.
                int inside_y = min(first_y + y, height - 1);
                int inside_x = min(first_x + x, width - 1);
                const float *inputs = input + (inside_y + i) * input_width + inside_x;
#endif
#pragma unroll
                for (int j = 0; j < FILTER; j++) {
#if use_shared
                    sums[s][t] += inputs[j] * weight[j];
#else
                    sums[s][t] += load(inputs + j) * weight[j];
#endif
                }
            }
        }
    }

#pragma unroll
    for (int s = 0; s < tile_size_y; s++) {
        int y = first_y + s * block_size_y + threadIdx.y;
#pragma unroll
        for (int t = 0; t < tile_size_x; t++) {
            int x = first_x + column_in_tile(t);
            if (x < width && y < height) {
                output[y * width + x] = sums[s][t];
            }
        }
    }
}
