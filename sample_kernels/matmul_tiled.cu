// C = A * B for square matrices of order n, row-major. A block computes a tile of C: it takes tiles of A and B, tile_k
// wide, through shared memory, and each thread keeps tile_size_y x tile_size_x results in registers.

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
#ifndef tile_k
#define tile_k 16
#endif
#ifndef vector_width
#define vector_width 1
#endif
#ifndef interleaved
#define interleaved 0
#endif
#ifndef padding
#define padding 0
#endif
#ifndef double_buffer
#define double_buffer 0
#endif
#ifndef unroll_k
#define unroll_k 1
#endif

constexpr int unrolled = unroll_k; // a pragma takes no macro
constexpr int threads = block_size_x * block_size_y;
constexpr int rows = block_size_y * tile_size_y;
constexpr int columns = block_size_x * tile_size_x;
constexpr int a_stride = rows + padding;
constexpr int b_stride = columns + padding;
// Vectors that a thread moves for each tile: the tiles are multiples of what all threads move at once.
constexpr int a_vectors = rows * tile_k / (threads * vector_width);
constexpr int b_vectors = columns * tile_k / (threads * vector_width);

struct __align__(4 * vector_width) Vector {
    float at[vector_width];
};

// What a thread moves, on its way from global to shared memory.
struct Moved {
    Vector a[a_vectors];
    Vector b[b_vectors];
};

// Neighbours in a row of a matrix; zeros outside of it.
__device__ Vector read(const float *matrix, int row, int column, int n)
{
    Vector values = {};
    if (n % vector_width == 0) {
        // Each vector is aligned, and lies inside or outside as a whole.
        if (row < n && column < n) {
            values = *reinterpret_cast<const Vector *>(matrix + row * n + column);
        }
    } else {
#pragma unroll
        for (int v = 0; v < vector_width; v++) {
            if (row < n && column + v < n) {
                values.at[v] = matrix[row * n + column + v];
            }
        }
    }
    return values;
}

__device__ void fetch(Moved &moved, const float *A, const float *B, int k, int n)
{
    int thread = threadIdx.y * block_size_x + threadIdx.x;
#pragma unroll
    for (int i = 0; i < a_vectors; i++) {
        int element = (i * threads + thread) * vector_width;
        moved.a[i] = read(A, blockIdx.y * rows + element / tile_k, k + element % tile_k, n);
    }
#pragma unroll
    for (int i = 0; i < b_vectors; i++) {
        int element = (i * threads + thread) * vector_width;
        moved.b[i] = read(B, k + element / columns, blockIdx.x * columns + element % columns, n);
    }
}

// The tile of A is transposed, so that the rows of a thread are neighbours.
__device__ void store(const Moved &moved, float *a_tile, float *b_tile)
{
    int thread = threadIdx.y * block_size_x + threadIdx.x;
#pragma unroll
    for (int i = 0; i < a_vectors; i++) {
        int element = (i * threads + thread) * vector_width;
#pragma unroll
        for (int v = 0; v < vector_width; v++) {
            a_tile[(element % tile_k + v) * a_stride + element / tile_k] = moved.a[i].at[v];
        }
    }
#pragma unroll
    for (int i = 0; i < b_vectors; i++) {
        int element = (i * threads + thread) * vector_width;
#pragma unroll
        for (int v = 0; v < vector_width; v++) {
            b_tile[element / columns * b_stride + element % columns + v] = moved.b[i].at[v];
        }
    }
}

// The columns of a thread are neighbours, or a block's width apart.
__device__ int column_in_tile(int j)
{
    return interleaved ? j * block_size_x + threadIdx.x : threadIdx.x * tile_size_x + j;
}

__device__ void multiply(float (&sums)[tile_size_y][tile_size_x], const float *a_tile, const float *b_tile)
{
#pragma unroll unrolled
    for (int k = 0; k < tile_k; k++) {
        float a[tile_size_y];
        float b[tile_size_x];
#pragma unroll
        for (int i = 0; i < tile_size_y; i++) {
            a[i] = a_tile[k * a_stride + threadIdx.y * tile_size_y + i];
        }
#pragma unroll
        for (int j = 0; j < tile_size_x; j++) {
            b[j] = b_tile[k * b_stride + column_in_tile(j)];
        }
#pragma unroll
        for (int i = 0; i < tile_size_y; i++) {
#pragma unroll
            for (int j = 0; j < tile_size_x; j++) {
                sums[i][j] += a[i] * b[j];
            }
        }
    }
}

__global__ void __launch_bounds__(block_size_x * block_size_y)
matmul_tiled(const float *A, const float *B, float *C, int n)
{
    __shared__ __align__(16) float a_tiles[1 + double_buffer][tile_k * a_stride];
    __shared__ __align__(16) float b_tiles[1 + double_buffer][tile_k * b_stride];
    float sums[tile_size_y][tile_size_x] = {};
    Moved moved;

#if double_buffer
    // The next tiles are on their way while these are multiplied.
    fetch(moved, A, B, 0, n);
    store(moved, a_tiles[0], b_tiles[0]);
    __syncthreads();
    int current = 0;
    for (int k = 0; k < n; k += tile_k) {
        bool last = k + tile_k >= n;
        if (!last) {
            fetch(moved, A, B, k + tile_k, n);
        }
        multiply(sums, a_tiles[current], b_tiles[current]);
        if (!last) {
            store(moved, a_tiles[1 - current], b_tiles[1 - current]);
        }
        __syncthreads();
        current = 1 - current;
    }
#else
    for (int k = 0; k < n; k += tile_k) {
        fetch(moved, A, B, k, n);
        store(moved, a_tiles[0], b_tiles[0]);
        __syncthreads();
        multiply(sums, a_tiles[0], b_tiles[0]);
        __syncthreads();
    }
#endif

#pragma unroll
    for (int i = 0; i < tile_size_y; i++) {
        int row = blockIdx.y * rows + threadIdx.y * tile_size_y + i;
#pragma unroll
        for (int j = 0; j < tile_size_x; j++) {
            int column = blockIdx.x * columns + column_in_tile(j);
            if (row < n && column < n) {
                C[row * n + column] = sums[i][j];
            }
        }
    }
}
