// The threads of one block as fibers on one core. A thread runs until it must wait; only then does
// another stack come into use, so that a block without barriers is a loop on a single stack.
#pragma once
#include <stddef.h>

#include <tuner_emulator/runtime.h>

namespace tuner_emulator {

constexpr unsigned MAX_THREADS = 1024, WARP = 32, SHARED_ROOM = 234 * 1024;

enum class Wait { none, barrier, exchange, active_mask };

/* Where a suspended thread goes on: as much as the compiler's own setjmp keeps, which is faster than the library's. */
using Context = void*[5];

struct Thread {
    Context context;
    uint3 index;
    Wait waits;
    const char* operation;  // what it waits in
    int line;
    Exchange exchange;
    unsigned mask;
    int source;
    unsigned long long deposit, result;
};

struct Warp {
    unsigned live;     // lanes that have not exited
    unsigned waiting;  // of them, those in an exchange
};

// How a block ends; what `run` returns, and what setjmp gives, where 0 stands for the first return.
enum Status { FINISHED = 1, DEADLOCK = 2, TRAPPED = 3, OVERRUN = 4, REFUSED = 5, RACED = 10 };

extern Thread threads[MAX_THREADS];
extern Warp warps[MAX_THREADS / WARP];
extern Thread* running;

/* Readies the threads for launches with blocks of this many threads. */
void prepare_threads(const dim3& block, void (*body)(void**), void** arguments);

/* Numbers 0 to `count` - 1 in another order, which a seed decides. */
struct Shuffle {
    unsigned long long count, factor, offset;
    Shuffle(unsigned long long count, unsigned long long seed);
    unsigned long long operator()(unsigned long long number) const {
        return (unsigned long long)(((unsigned __int128)number * factor + offset) % count);
    }
};

/* Runs the threads of one block, the last first where `descending`; with an order other than 0 shuffled by it.
   Returns its status. */
Status run_block(bool descending, unsigned order);

/* Suspends the running thread until it is woken. */
void wait(Wait reason, const char* operation, int line);
void wake(Thread& thread);

/* Lets other threads run by chance, where the order is one of chance. */
void give_way();

/* Ends the block from inside. */
[[noreturn]] void stop(Status status);

/* To be called when a thread has exited: others may have waited for it. */
void settle_barrier();
void settle_warp(Warp& warp, Thread* lanes);

/* Wakes the threads that wait in `active_mask`; whether there were any. */
bool release_active_masks();

/* The thread that comes so many-th, in whatever order the block's threads run. */
Thread& thread_in_order(unsigned number);

unsigned live_threads();
unsigned block_threads();

/* The stacks of all threads: first address and the one behind the last; none before a thread has run. */
struct Span {
    size_t first, after;
    bool holds(size_t address) const { return address - first < after - first; }
};
Span stacks();

/* The shared memory of a block that is declared with a size, and that which the launch adds. */
Span static_shared();
Span dynamic_shared();

/* What a build that watches every access is told; absent from others. */
__attribute__((weak)) bool watch_launch();  // whether there is memory for it
__attribute__((weak)) void watch_block();  // which begins
__attribute__((weak)) void watch_arrival(const char* operation, int line);  // at a barrier
__attribute__((weak)) void watch_barrier();  // which all have reached
__attribute__((weak)) void watch_exchange(unsigned first_thread, unsigned lanes);
__attribute__((weak)) void watch_exit();
__attribute__((weak)) void watch_fence();
__attribute__((weak)) void watch_atomic(const volatile void* address, size_t bytes, bool is_exchange, const void* instruction);
__attribute__((weak)) void watch_unread();

/* Why the last launch failed. */
void explain(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace tuner_emulator
