// A launch: its blocks one after another, in the order that is asked for, over shared memory that starts each of them poisoned.
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "threads.h"

// Every `extern __shared__` array is this symbol. The page after it must not be touched.
constexpr unsigned PAGE = 4096, SHARED_LIMIT = 232448, STATIC_LIMIT = 49152, MARGIN = 1024;
extern "C" {
alignas(PAGE) __attribute__((visibility("hidden"))) char tuner_dynamic_shared[tuner_emulator::SHARED_ROOM];
}
static_assert(sizeof tuner_dynamic_shared >= SHARED_LIMIT + MARGIN, "the margin lies behind the largest array");

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace tuner_emulator {

// Not a number as half, float or double, and an index far out of bounds as an integer.
constexpr int MOST_ATOMICS = 256;
constexpr unsigned char POISON = 0xff, UNTOUCHED = 0xa5;

static char* message;
static unsigned message_bytes;

void explain(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(message, message_bytes, format, values);
    va_end(values);
}

void trap(const char* reason, int line) {
    explain("%s in line %d (block %u,%u,%u, thread %u,%u,%u)", reason, line, blockIdx.x, blockIdx.y, blockIdx.z,
            threadIdx.x, threadIdx.y, threadIdx.z);
    stop(TRAPPED);
}

// What a block that runs alone did by atomic functions. Laid out as `AtomicsNote` in Python.
struct Atomics {
    int count;  // -1 where they are too many, or where one block may wait for another
    const volatile void* addresses[MOST_ATOMICS];
};
static Atomics atomics;
static bool alone, behind;
bool atomics_are_told;

bool note_atomic(const volatile void* address, size_t bytes, Atomic kind, const void* instruction) {
    bool may_lock = kind != Atomic::update;
    if (may_lock) give_way();  // what was read there before may be old by now
    if (watch_atomic) watch_atomic(address, bytes, kind == Atomic::exchange, instruction);
    if (!alone) return false;
    if (may_lock) atomics.count = -1;
    for (int i = 0; i < atomics.count; i++)
        if (atomics.addresses[i] == address) return false;
    if (atomics.count == MOST_ATOMICS) atomics.count = -1;
    if (atomics.count < 0) return false;
    atomics.addresses[atomics.count++] = address;
    return behind;
}

void unread() {
    if (watch_unread) watch_unread();
}

void fence() {
    if (watch_fence) watch_fence();
}

struct ModuleIndex {
    unsigned long module, offset;
};
extern "C" void* __tls_get_addr(ModuleIndex*);

// The static shared variables are the thread-local storage of this library.
static int find_storage(dl_phdr_info* info, size_t, void* result) {
    const ElfW(Phdr)* storage = nullptr;
    bool is_this = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        if (part.p_type == PT_TLS) storage = &part;
        if (part.p_type == PT_LOAD) is_this |= (size_t)&threadIdx - info->dlpi_addr - part.p_vaddr < part.p_memsz;
    }
    if (!is_this) return 0;
    if (storage) {
        ModuleIndex index = {info->dlpi_tls_modid, 0};
        size_t first = (size_t)__tls_get_addr(&index);
        *(Span*)result = {first, first + storage->p_memsz};
    }
    return 1;
}

Span static_shared() {
    Span shared = {0, 0};
    dl_iterate_phdr(find_storage, &shared);
    return shared;
}

static unsigned dynamic_shared_bytes;

Span dynamic_shared() {
    size_t first = (size_t)tuner_dynamic_shared;
    return {first, first + dynamic_shared_bytes};
}

static bool fits(size_t variable_bytes, unsigned dynamic_bytes) {
    unsigned long long block = (unsigned long long)blockDim.x * blockDim.y * blockDim.z;
    if (block == 0 || block > MAX_THREADS) {
        explain("%llu threads a block: a block has 1 to %u", block, MAX_THREADS);
        return false;
    }
    if (variable_bytes > STATIC_LIMIT || variable_bytes + dynamic_bytes > SHARED_LIMIT) {
        explain("%zu bytes of static and %u of dynamic shared memory: a block has at most %u and, together, %u",
                variable_bytes, dynamic_bytes, STATIC_LIMIT, SHARED_LIMIT);
        return false;
    }
    return true;
}

static bool margin_written(unsigned dynamic_bytes) {
    for (unsigned i = dynamic_bytes; i < dynamic_bytes + MARGIN; i++)
        if ((unsigned char)tuner_dynamic_shared[i] != UNTOUCHED) return true;
    return false;
}

unsigned long long blocks_begun;
bool copies_are_late;

static Status run_one(const Span& variables, unsigned dynamic_bytes, bool descending, unsigned order) {
    blocks_begun++;
    memset(tuner_dynamic_shared, POISON, dynamic_bytes);
    if (variables.first) memset((void*)variables.first, POISON, variables.after - variables.first);
    if (watch_block) watch_block();
    if (watch_barrier) watch_barrier();
    Status status = run_block(descending, order);
    if (status == FINISHED && margin_written(dynamic_bytes)) {
        explain("block %u,%u,%u wrote past the end of its %u bytes of dynamic shared memory", blockIdx.x, blockIdx.y,
                blockIdx.z, dynamic_bytes);
        return OVERRUN;
    }
    return status;
}

static Status run_grid(const Span& variables, unsigned dynamic_bytes, unsigned order, unsigned only) {
    // Neither blocks nor threads have an order. Unshuffled, that of the threads of neighbouring blocks is opposite, so
    // that a missing barrier shows.
    unsigned long long plane = (unsigned long long)gridDim.x * gridDim.y, count = plane * gridDim.z;
    Shuffle shuffle(count ? count : 1, order);
    for (unsigned long long i = only ? only - 1 : 0; i < (only ? only : count); i++) {
        unsigned long long place = order ? shuffle(i) : i;
        blockIdx = {(unsigned)(place % gridDim.x), (unsigned)(place / gridDim.x % gridDim.y), (unsigned)(place / plane)};
        copies_are_late = (i + order) % 2 == 0;
        Status status = run_one(variables, dynamic_bytes, i % 2 == 0, order ? order + (unsigned)i | 1 : 0);
        if (status != FINISHED) return status;
    }
    return FINISHED;
}

int run(const Launch& launch) {
    message = launch.message;
    message_bytes = launch.message_bytes;
    const unsigned* g = launch.geometry;
    gridDim = dim3(g[0], g[1], g[2]);
    blockDim = dim3(g[3], g[4], g[5]);
    Span variables = static_shared();
    if (!fits(variables.after - variables.first, g[6])) return REFUSED;
    dynamic_shared_bytes = g[6];
    prepare_threads(blockDim, launch.thread, launch.arguments);
    memset(tuner_dynamic_shared + g[6], UNTOUCHED, MARGIN);
    alone = g[8] != 0;
    behind = g[9] != 0;
    atomics_are_told = alone || watch_atomic || g[7];
    atomics.count = 0;
    if (watch_launch && !watch_launch()) {
        explain("no memory to watch what the threads do");
        return REFUSED;
    }
    Status status = run_grid(variables, g[6], g[7], g[8]);
    return status == FINISHED ? 0 : status;
}

}  // namespace tuner_emulator

/* Tells what the last launch, of one block alone, did by atomic functions. */
extern "C" __attribute__((visibility("default"))) void tuner_atomics(void* note) {
    memcpy(note, &tuner_emulator::atomics, sizeof tuner_emulator::atomics);
}

extern "C" __attribute__((visibility("default"))) unsigned tuner_static_shared() {
    tuner_emulator::Span variables = tuner_emulator::static_shared();
    return (unsigned)(variables.after - variables.first);
}

/* Tells the fault handler which thread ran: block x, y, z, thread x, y, z. */
extern "C" void tuner_place(unsigned* place) {
    uint3 both[2] = {blockIdx, threadIdx};
    memcpy(place, both, sizeof both);
}
