// Barriers, shuffles, votes and reductions.
#pragma once
#include "runtime.h"

#define TUNER_LINE int line = __builtin_LINE()

inline void __syncthreads(TUNER_LINE) { tuner_emulator::block_barrier(false, "__syncthreads", line); }
inline int __syncthreads_count(int predicate, TUNER_LINE) {
    return tuner_emulator::block_barrier(predicate != 0, "__syncthreads_count", line).ayes;
}
inline int __syncthreads_and(int predicate, TUNER_LINE) {
    auto vote = tuner_emulator::block_barrier(predicate != 0, "__syncthreads_and", line);
    return vote.ayes == vote.voters;
}
inline int __syncthreads_or(int predicate, TUNER_LINE) {
    return tuner_emulator::block_barrier(predicate != 0, "__syncthreads_or", line).ayes != 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TUNER_LINE) {
    tuner_emulator::warp_exchange(tuner_emulator::Exchange::sync, mask, 0, 0, "__syncwarp", line);
}

// Memory is coherent on one core; who watches wants to know what a block may tell others.
inline void __threadfence() { tuner_emulator::fence(); }
inline void __threadfence_block() {}
inline void __threadfence_system() { tuner_emulator::fence(); }
inline void __nanosleep(unsigned) { tuner_emulator::yield(); }

namespace tuner_emulator {

template <class T>
T shuffle(unsigned mask, T value, int source, const char* operation, int line) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    word = warp_exchange(Exchange::shuffle, mask, word, source, operation, line);
    __builtin_memcpy(&value, &word, sizeof(T));
    return value;
}

inline int first_lane(int width) { return lane() & ~(width - 1); }

}  // namespace tuner_emulator

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, TUNER_LINE) {
    source = tuner_emulator::first_lane(width) | (source & (width - 1));
    return tuner_emulator::shuffle(mask, value, source, "__shfl_sync", line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, TUNER_LINE) {
    int lane = tuner_emulator::lane(), source = lane - (int)(delta & 31);
    source = source < tuner_emulator::first_lane(width) ? lane : source;
    return tuner_emulator::shuffle(mask, value, source, "__shfl_up_sync", line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, TUNER_LINE) {
    int lane = tuner_emulator::lane(), source = lane + (int)(delta & 31);
    source = source >= tuner_emulator::first_lane(width) + width ? lane : source;
    return tuner_emulator::shuffle(mask, value, source, "__shfl_down_sync", line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, TUNER_LINE) {
    int lane = tuner_emulator::lane(), source = lane ^ (lane_mask & 31);
    source = source >= tuner_emulator::first_lane(width) + width ? lane : source;
    return tuner_emulator::shuffle(mask, value, source, "__shfl_xor_sync", line);
}

#define TUNER_BALLOT(predicate, operation) \
    (unsigned)tuner_emulator::warp_exchange(tuner_emulator::Exchange::ballot, mask, predicate, 0, operation, line)
inline unsigned __ballot_sync(unsigned mask, int predicate, TUNER_LINE) {
    return TUNER_BALLOT(predicate != 0, "__ballot_sync");
}
inline int __any_sync(unsigned mask, int predicate, TUNER_LINE) {
    return TUNER_BALLOT(predicate != 0, "__any_sync") != 0;
}
inline int __all_sync(unsigned mask, int predicate, TUNER_LINE) {
    return TUNER_BALLOT(predicate == 0, "__all_sync") == 0;
}
#undef TUNER_BALLOT
inline unsigned __activemask(TUNER_LINE) { return tuner_emulator::active_mask(line); }

template <class T>
unsigned __match_any_sync(unsigned mask, T value, TUNER_LINE) {
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    return (unsigned)tuner_emulator::warp_exchange(
        tuner_emulator::Exchange::match, mask, word, 0, "__match_any_sync", line);
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate, TUNER_LINE) {
    unsigned equal = __match_any_sync(mask, value, line);
    unsigned present = __ballot_sync(mask, 1, line);
    *predicate = equal == present;
    return *predicate ? mask : 0;
}

#define TUNER_REDUCE(T, name, exchange)                                                           \
    inline T __reduce_##name##_sync(unsigned mask, T value, TUNER_LINE) {                          \
        return (T)tuner_emulator::warp_exchange(                                                  \
            tuner_emulator::Exchange::exchange, mask, (unsigned long long)(long long)value, 0,    \
            "__reduce_" #name "_sync", line);                                                     \
    }
TUNER_REDUCE(int, add, add)
TUNER_REDUCE(int, min, min)
TUNER_REDUCE(int, max, max)
TUNER_REDUCE(unsigned, add, add)
TUNER_REDUCE(unsigned, min, min)
TUNER_REDUCE(unsigned, max, max)
TUNER_REDUCE(unsigned, and, bit_and)
TUNER_REDUCE(unsigned, or, bit_or)
TUNER_REDUCE(unsigned, xor, bit_xor)
#undef TUNER_REDUCE
