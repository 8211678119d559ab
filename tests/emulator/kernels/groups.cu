#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

template <unsigned Size>
__device__ void tile_of(int* row, cg::thread_block block) {
    cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
    int value = (int)block.thread_rank() * 3;
    row[0] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
    row[1] = tile.shfl(value, 1);
    row[2] = tile.shfl_up(value, 2);
    row[3] = tile.shfl_down(value, 2);
    row[4] = tile.shfl_xor(value, 1);
    row[5] = (int)tile.ballot(block.thread_rank() % 3 == 0);
    row[6] = cg::reduce(tile, value, cg::plus<int>());
    row[7] = cg::reduce(tile, value, cg::greater<int>()) + (tile.any(value == 3) ? 1000 : 0) + (tile.all(value >= 0) ? 2000 : 0);
}

__global__ void tiles(int* out) {
    cg::thread_block block = cg::this_thread_block();
    int* row = out + block.thread_rank() * 16;
    tile_of<32>(row, block);
    tile_of<8>(row + 8, block);
}

__device__ int sum_of(cg::thread_group group, int* shared, int value) {
    int rank = group.thread_rank();
    for (int half = group.size() / 2; half > 0; half /= 2) {
        shared[rank] = value;
        group.sync();
        if (rank < half) value += shared[rank + half];
        cg::sync(group);
    }
    return value;
}

__global__ void sums(int* out, int* place) {
    extern __shared__ int shared[];
    cg::thread_block block = cg::this_thread_block();
    int value = 1 << block.thread_rank() % 4, whole = sum_of(block, shared, value);
    auto tile = cg::tiled_partition(block, 16);
    int part = sum_of(tile, shared + block.thread_rank() / 16 * 16, value);
    if (block.thread_rank() == 0) out[cg::this_grid().block_rank()] = whole * 1000 + part;
    if (block.thread_rank() % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int first = active.thread_rank() == 0 ? atomicAdd(place, active.size()) : 0;
        active.shfl(first, 0);
    }
}
