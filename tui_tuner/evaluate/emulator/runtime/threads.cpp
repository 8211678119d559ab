// Scheduling: stacks made once with makecontext, switched with the compiler's setjmp and longjmp, no system calls.
#include "threads.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace tuner_emulator {

// CUDA gives a thread at most 512 KiB of local memory.
constexpr unsigned STACK_BYTES = 640u << 10, GUARD_BYTES = 64u << 10;

struct Worker {
    Context context;
    Worker* next_idle;
};

Thread threads[MAX_THREADS];
Warp warps[MAX_THREADS / WARP];
Thread* running;

static Worker workers[MAX_THREADS];
static Worker *idle, *starting;
static unsigned worker_count;

static Thread* ready[MAX_THREADS];
static unsigned ready_first, ready_count;

static unsigned total, started, live;
static bool last_first, shuffled;
static Shuffle shuffle(1, 0);
static void (*thread_body)(void**);
static void** thread_arguments;
static jmp_buf launcher;

unsigned live_threads() { return live; }
unsigned block_threads() { return total; }

void wake(Thread& thread) {
    thread.waits = Wait::none;
    ready[(ready_first + ready_count++) % MAX_THREADS] = &thread;
}

void stop(Status status) { _longjmp(launcher, status); }

static void enter(Thread* thread) {
    running = thread;
    threadIdx = thread->index;
}

static unsigned long long common(unsigned long long a, unsigned long long b) { return b ? common(b, a % b) : a; }

Shuffle::Shuffle(unsigned long long count, unsigned long long seed)
    : count(count), factor((seed * 0x9e3779b97f4a7c15ull >> 17) % count + 1), offset(seed * 0xbf58476d1ce4e5b9ull >> 19) {
    while (common(factor, count) != 1) factor++;
}

Thread& thread_in_order(unsigned number) {
    if (shuffled) return threads[shuffle(number)];
    return threads[last_first ? total - 1 - number : number];
}

static void run_thread(unsigned number) {
    Thread* thread = &thread_in_order(number);
    thread->waits = Wait::none;
    enter(thread);
    thread_body(thread_arguments);
    if (watch_exit) watch_exit();
    unsigned position = (unsigned)(running - threads);
    Warp& warp = warps[position / WARP];
    warp.live &= ~(1u << position % WARP);
    live--;
    settle_barrier();
    if (warp.waiting) settle_warp(warp, &threads[position / WARP * WARP]);
}

[[noreturn]] __attribute__((noinline)) static void run_next();

static void work() {
    Worker* self = starting;
    for (;;) {
        do run_thread(started++);  // also where others are ready: who spins may wait for one that has not begun
        while (started < total && ready_count == 0);
        if (__builtin_setjmp(self->context) == 0) {
            self->next_idle = idle;
            idle = self;
            run_next();
        }
    }
}

Span stacks() {
    constexpr size_t ALL = (size_t)MAX_THREADS * (STACK_BYTES + GUARD_BYTES);
    constexpr int FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    static void* const reserved = mmap(nullptr, ALL, PROT_NONE, FLAGS, -1, 0);
    return reserved == MAP_FAILED ? Span{0, 0} : Span{(size_t)reserved, (size_t)reserved + ALL};
}

static void* new_stack() {
    char* memory = (char*)stacks().first + worker_count * (size_t)(STACK_BYTES + GUARD_BYTES) + GUARD_BYTES;
    if (stacks().first == 0 || mprotect(memory, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) {
        explain("no memory for the stacks of %u threads", worker_count + 1);
        stop(REFUSED);
    }
    return memory;
}

// Tops of stacks at the same place of 64 KiB would all fall into the same few lines of the caches and of the TLB.
static unsigned top_offset(unsigned number) { return number % 16 * 4096 + (number + number / 16) % 16 * 256; }

[[noreturn]] __attribute__((noinline)) static void start_worker() {
    if (idle) {
        Worker* worker = idle;
        idle = worker->next_idle;
        __builtin_longjmp(worker->context, 1);
    }
    void* stack = new_stack();
    starting = &workers[worker_count++];
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK_BYTES - top_offset(worker_count);
    context.uc_link = nullptr;
    makecontext(&context, work, 0);
    setcontext(&context);
    __builtin_unreachable();
}

static void explain_deadlock() {
    char text[400] = "";
    size_t length = 0;
    bool told[MAX_THREADS] = {};
    for (unsigned i = 0; i < total && length < sizeof text; i++) {
        if (threads[i].waits == Wait::none || told[i]) continue;
        unsigned count = 0;
        for (unsigned j = i; j < total; j++) {
            bool same = threads[j].waits == threads[i].waits && threads[j].line == threads[i].line;
            told[j] |= same;
            count += same;
        }
        length += (size_t)__builtin_snprintf(
            text + length, sizeof text - length, "%s%u thread%s at %s in line %d", length ? "; " : "", count,
            count == 1 ? " waits" : "s wait", threads[i].operation, threads[i].line);
    }
    explain("deadlock: %s (block %u,%u,%u)", text, blockIdx.x, blockIdx.y, blockIdx.z);
}

static void run_next() {
    for (;;) {
        if (ready_count) {
            Thread* thread = ready[ready_first];
            ready_first = (ready_first + 1) % MAX_THREADS;
            ready_count--;
            __builtin_longjmp(thread->context, 1);
        }
        if (started < total) start_worker();
        if (live == 0) stop(FINISHED);
        if (!release_active_masks()) {
            explain_deadlock();
            stop(DEADLOCK);
        }
    }
}

__attribute__((noinline)) static void suspend(bool prefer_new) {
    Thread* self = running;
    if (__builtin_setjmp(self->context) == 0) {
        if (prefer_new && started < total) start_worker();
        run_next();
    }
    enter(self);
}

void wait(Wait reason, const char* operation, int line) {
    running->waits = reason;
    running->operation = operation;
    running->line = line;
    suspend(false);
}

void yield() {
    wake(*running);
    suspend(true);
}

void give_way() {
    static unsigned drawn;
    drawn = drawn * 1664525u + 1013904223u;
    if (shuffled && drawn >> 29 == 0) yield();
}

void prepare_threads(const dim3& block, void (*body)(void**), void** arguments) {
    thread_body = body;
    thread_arguments = arguments;
    total = 0;
    for (unsigned z = 0; z < block.z; z++)
        for (unsigned y = 0; y < block.y; y++)
            for (unsigned x = 0; x < block.x; x++) threads[total++].index = {x, y, z};
}

Status run_block(bool descending, unsigned order) {
    last_first = descending;
    shuffled = order != 0;
    if (shuffled) shuffle = Shuffle(total, order);
    started = ready_count = 0;
    live = total;
    for (unsigned i = 0; i * WARP < total; i++) {
        unsigned lanes = total - i * WARP;
        warps[i] = {lanes >= WARP ? ~0u : (1u << lanes) - 1, 0};
    }
    for (unsigned i = 0; i < total; i++) threads[i].waits = Wait::none;
    int status = _setjmp(launcher);
    if (status == 0) run_next();
    return (Status)status;
}

}  // namespace tuner_emulator
