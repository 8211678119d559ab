// Cooperative groups within a block: blocks, tiles of a warp, the lanes that stand together; of the grid the ranks.
#pragma once
#include <tuner_emulator/device.h>

namespace tuner_emulator {

inline unsigned volume(const dim3& extents) { return extents.x * extents.y * extents.z; }

}  // namespace tuner_emulator

namespace cooperative_groups {

class thread_block {
  public:
    static void sync(TUNER_LINE) { __syncthreads(line); }
    static unsigned num_threads() { return tuner_emulator::volume(blockDim); }
    static unsigned size() { return num_threads(); }
    static unsigned thread_rank() { return tuner_emulator::rank_in(blockDim, threadIdx); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 dim_threads() { return blockDim; }
    static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
  public:
    __attribute__((error("the emulator cannot run barriers of the whole grid: use a CUDA GPU"))) static void sync();
    static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long num_blocks() { return tuner_emulator::volume(gridDim); }
    static unsigned long long block_rank() { return tuner_emulator::rank_in(gridDim, blockIdx); }
    static unsigned long long thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    static dim3 block_index() { return thread_block::group_index(); }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 group_dim() { return gridDim; }
    static bool is_valid() { return false; }
};
inline grid_group this_grid() { return {}; }

/* Some lanes of one warp, in their order. */
class lanes {
  public:
    explicit lanes(unsigned mask) : mask_(mask) {}
    void sync(TUNER_LINE) const { __syncwarp(mask_, line); }
    unsigned num_threads() const { return (unsigned)__builtin_popcount(mask_); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return (unsigned)__builtin_popcount(mask_ & ((1u << tuner_emulator::lane()) - 1)); }

    template <class T>
    T shfl(T value, int rank, TUNER_LINE) const { return from(value, (unsigned)rank % size(), "shfl", line); }
    template <class T>
    T shfl_up(T value, unsigned delta, TUNER_LINE) const {
        return from(value, delta > thread_rank() ? thread_rank() : thread_rank() - delta, "shfl_up", line);
    }
    template <class T>
    T shfl_down(T value, unsigned delta, TUNER_LINE) const {
        return from(value, delta >= size() - thread_rank() ? thread_rank() : thread_rank() + delta, "shfl_down", line);
    }
    template <class T>
    T shfl_xor(T value, unsigned bits, TUNER_LINE) const {
        unsigned rank = thread_rank() ^ bits;
        return from(value, rank < size() ? rank : thread_rank(), "shfl_xor", line);
    }
    int any(int predicate, TUNER_LINE) const { return __any_sync(mask_, predicate, line); }
    int all(int predicate, TUNER_LINE) const { return __all_sync(mask_, predicate, line); }
    unsigned ballot(int predicate, TUNER_LINE) const { return ranks(__ballot_sync(mask_, predicate, line)); }
    template <class T>
    unsigned match_any(T value, TUNER_LINE) const { return ranks(__match_any_sync(mask_, value, line)); }
    template <class T>
    unsigned match_all(T value, int& predicate, TUNER_LINE) const {
        return ranks(__match_all_sync(mask_, value, &predicate, line));
    }

  private:
    unsigned mask_;

    int lane_of(unsigned rank) const {
        unsigned left = mask_;
        while (rank-- > 0) left &= left - 1;
        return __builtin_ctz(left);
    }
    unsigned ranks(unsigned votes) const {
        unsigned said = 0;
        for (unsigned left = mask_, rank = 0; left; left &= left - 1, ++rank)
            said |= (votes >> __builtin_ctz(left) & 1u) << rank;
        return said;
    }
    template <class T>
    T from(T value, unsigned rank, const char* operation, int line) const {
        return tuner_emulator::shuffle(mask_, value, lane_of(rank), operation, line);
    }
};

class coalesced_group : public lanes {
  public:
    using lanes::lanes;
    unsigned meta_group_rank() const { return 0; }
    unsigned meta_group_size() const { return 1; }
};
inline coalesced_group coalesced_threads(TUNER_LINE) { return coalesced_group(__activemask(line)); }

template <unsigned Size, class Parent = void>
class thread_block_tile : public lanes {
    static_assert(Size <= 32, "the emulator cannot run tiles of several warps: use a CUDA GPU");
    static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");

  public:
    thread_block_tile() : lanes(whole() << (tuner_emulator::lane() & ~(int)(Size - 1))) {}
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    unsigned thread_rank() const { return (unsigned)tuner_emulator::lane() & (Size - 1); }
    unsigned meta_group_rank() const { return thread_block::thread_rank() / Size; }
    unsigned meta_group_size() const { return (thread_block::num_threads() + Size - 1) / Size; }

  private:
    static unsigned whole() {
        unsigned first = thread_block::thread_rank() & ~(Size - 1), there = thread_block::num_threads() - first;
        unsigned count = there < Size ? there : Size;
        return count == 32 ? ~0u : (1u << count) - 1;
    }
};
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return {}; }

/* A block, or a tile whose size is known when it runs. */
class thread_group {
  public:
    thread_group(const thread_block&) : width_(0) {}
    explicit thread_group(unsigned width) : width_(width) {}
    template <unsigned Size, class Parent>
    thread_group(const thread_block_tile<Size, Parent>&) : width_(Size) {}
    void sync(TUNER_LINE) const {
        if (width_ == 0) return __syncthreads(line);
        unsigned all = width_ >= 32 ? ~0u : (1u << width_) - 1;
        __syncwarp(all << (tuner_emulator::lane() & ~(int)(width_ - 1)), line);
    }
    unsigned num_threads() const { return width_ ? width_ : thread_block::num_threads(); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return thread_block::thread_rank() % num_threads(); }

  private:
    unsigned width_;
};
inline thread_group tiled_partition(const thread_group&, unsigned size) { return thread_group(size); }

template <class Group>
void sync(const Group& group, TUNER_LINE) { group.sync(line); }
__attribute__((error("the emulator cannot run barriers of the whole grid: use a CUDA GPU"))) void sync(const grid_group&);
template <class Group>
auto thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group>
auto group_size(const Group& group) { return group.size(); }

}  // namespace cooperative_groups
