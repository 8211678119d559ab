// Sums of columns: a block has a tile of 32 by 32.
#define ARGS float *s, const float *x, int rows, int columns
#define PLACE int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y, end = min(rows, (int)(blockIdx.y + 1) * 32)

__global__ void given(float *s, const float *x, int rows, int columns) {
    PLACE;
    float a = 0;
    if (c < columns) for (; r < end; r += 8) a += x[r * columns + c];
    if (c < columns) atomicAdd(&s[c], a);
}

__device__ float of_tile(const float *x, int rows, int columns, int c, int r, int end) {
    __shared__ float part[8][33];
    float a = 0;
    if (c < columns) for (; r < end; r += 8) a += x[r * columns + c];
    part[threadIdx.y][threadIdx.x] = a;
    __syncthreads();
    a = 0;
    if (threadIdx.y == 0) for (int k = 0; k < 8; k++) a += part[k][threadIdx.x];
    return a;
}

// Blocks above each other add to the same, and one of two updates is lost.
// expect: wrong result or race
__global__ void tiles_do_not_mind_each_other(ARGS) {
    PLACE;
    float a = of_tile(x, rows, columns, c, r, end);
    if (c < columns && threadIdx.y == 0) s[c] += a;
}

// expect: wrong result
__global__ void volatile_and_not_atomic(ARGS) {
    PLACE;
    float a = of_tile(x, rows, columns, c, r, end);
    if (c < columns && threadIdx.y == 0) *(volatile float *)&s[c] += a;
}

// Who sees that there is nothing yet stores.
// expect: wrong result or race
__global__ void stores_where_there_is_nothing(ARGS) {
    PLACE;
    float a = of_tile(x, rows, columns, c, r, end);
    if (c >= columns || threadIdx.y) return;
    if (s[c] == 0) s[c] = a;
    else atomicAdd(&s[c], a);
}

__device__ int lock[8];

// expect: accepted
__global__ void honest_lock(ARGS) {
    PLACE;
    float a = of_tile(x, rows, columns, c, r, end);
    if (threadIdx.y) return;
    if (threadIdx.x == 0) while (atomicCAS(&lock[blockIdx.x], 0, 1)) {}
    __syncwarp();
    __threadfence();
    if (c < columns) *(volatile float *)&s[c] += a;
    __threadfence();
    __syncwarp();
    if (threadIdx.x == 0) atomicExch(&lock[blockIdx.x], 0);
}

__device__ float parts[8][128];
__device__ unsigned ended;

// What all have left is added by the block that ends last; its flag tells the others nothing.
// expect: accepted
__global__ void honest_last_block(ARGS) {
    PLACE;
    __shared__ bool last;
    float a = of_tile(x, rows, columns, c, r, end);
    if (c < columns && threadIdx.y == 0) parts[blockIdx.y][c] = a;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) last = atomicAdd(&ended, 1) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (!last) return;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < columns; k += 256) {
        float sum = 0;
        for (int b = 0; b < gridDim.y; b++) sum += parts[b][k];
        s[k] = sum;
    }
    if (threadIdx.x == 0 && threadIdx.y == 0) ended = 0;
}

__device__ int free_tile, gone;

// Tiles are drawn from a counter, which the last block to go puts back.
// expect: accepted
__global__ void honest_queue(ARGS) {
    __shared__ int tile;
    int across = (columns + 31) / 32, all = across * ((rows + 31) / 32);
    while (true) {
        if (threadIdx.x == 0 && threadIdx.y == 0) tile = atomicAdd(&free_tile, 1);
        __syncthreads();
        int mine = tile;
        if (mine >= all) break;
        int c = mine % across * 32 + threadIdx.x, first = mine / across * 32;
        float a = of_tile(x, rows, columns, c, first + threadIdx.y, min(rows, first + 32));
        if (c < columns && threadIdx.y == 0) atomicAdd(&s[c], a);
        __syncthreads();
    }
    if (threadIdx.x || threadIdx.y) return;
    if (atomicAdd(&gone, 1) == gridDim.x * gridDim.y - 1) free_tile = gone = 0;
}

// The counter is put back by the first block, which may not be the last.
// expect: wrong result
__global__ void put_back_by_the_first(ARGS) {
    __shared__ int tile;
    int across = (columns + 31) / 32, all = across * ((rows + 31) / 32);
    if (threadIdx.x == 0 && threadIdx.y == 0) tile = atomicAdd(&free_tile, 1);
    __syncthreads();
    int mine = tile;
    if (mine < all) {
        int c = mine % across * 32 + threadIdx.x, first = mine / across * 32;
        float a = of_tile(x, rows, columns, c, first + threadIdx.y, min(rows, first + 32));
        if (c < columns && threadIdx.y == 0) atomicAdd(&s[c], a);
    }
    if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0) free_tile = 0;
}
