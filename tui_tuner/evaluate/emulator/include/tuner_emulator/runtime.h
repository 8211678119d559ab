// What a running thread asks of the runtime, which is compiled on its own: to the kernel's
// compiler these are calls that may change any memory, as barriers must be.
#pragma once
#include <stddef.h>

#include "vectors.h"

// What a build that watches every access for races does not watch: the accesses of atomic functions, which are told.
#define TUNER_UNWATCHED __attribute__((no_sanitize("thread")))

#pragma GCC visibility push(hidden)

extern "C" char tuner_dynamic_shared[];
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace tuner_emulator {

extern unsigned long long blocks_begun;  // in all launches, that which runs included
extern bool copies_are_late;             // those of the block that runs, see copies.h

struct BarrierVote {
    int voters;  // threads that arrived
    int ayes;    // of them, those whose predicate held
};

enum class Exchange { sync, shuffle, ballot, match, add, min, max, bit_and, bit_or, bit_xor };

/* Waits until every thread of the block that has not exited is here. */
BarrierVote block_barrier(bool predicate, const char* operation, int line);

/* Waits until every lane in `mask` that has not exited is here; returns this lane's result. */
unsigned long long warp_exchange(
    Exchange exchange, unsigned mask, unsigned long long deposit, int source, const char* operation, int line);

/* The lanes of the warp that stand at the same line once nothing else can run. */
unsigned active_mask(int line);

/* Lets the block's other threads run before this one goes on. */
void yield();

/* Other blocks see what was written before it, if they see anything that is written behind it. */
void fence();

/* Nobody looks at what the exchange returned that this thread made just now: it is a store. */
void unread();

/* Whether every atomic function tells where it works, before it does, and hears whether it is to do so twice. */
extern bool atomics_are_told;
enum class Atomic { update, swap, exchange };  // the latter two may lock; the last one does not look first
bool note_atomic(const volatile void* address, size_t bytes, Atomic kind, const void* instruction);

/* Ends the launch as failed. */
[[noreturn]] void trap(const char* reason, int line);

inline unsigned rank_in(const dim3& extents, const uint3& index) {
    return (index.z * extents.y + index.y) * extents.x + index.x;
}

/* Position of the running thread in its warp, 0 to 31. */
int lane();

struct Launch {
    // grid x, y, z, block x, y, z, bytes of dynamic shared memory, order of blocks and threads (0 for the usual one),
    // the one block to run, counted from 1 (0 for all), and whether that runs as if others had begun and not ended
    const unsigned* geometry;
    void** arguments;          // each points to the argument's value
    void (*thread)(void** arguments);
    char* message;             // receives the reason of a failed launch
    unsigned message_bytes;
};

/* Runs every block of a launch; returns 0, or a status as in `tui_tuner.evaluate.devices.native_report`. */
int run(const Launch& launch);

}  // namespace tuner_emulator

#pragma GCC visibility pop
