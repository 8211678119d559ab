// The runtime of -fsanitize=thread: accesses of two threads of a block to the same bytes, one of which changes them, must
// have a barrier between them, an exchange of their warp, or an atomic function at an address that both used. A thread
// runs until it must wait, so the accesses come one after the other, and what may race was never at once.
#include <stdio.h>
#include <string.h>

#include "report.h"

namespace tuner_emulator {

struct Access {
    unsigned epoch;  // 0 for none
    int clock;       // of its thread
    unsigned instruction;
    unsigned short thread;
    unsigned char bytes;  // of the four, a bit each
    bool is_atomic, is_volatile;
    bool changes;  // of a write, whether other bytes were there before
    bool tells;    // of a write, whether it stores whatever was there
    bool is_unread;  // of an exchange, whether nobody looks at what was there
};

// What is known of four bytes of memory; which four, since many share a cell and the last one has it. Forgetting
// something hides a race and never makes one.
struct Cell {
    size_t word;
    Access write, reads[2];
};
constexpr unsigned CELLS = 1u << 18;
static Cell cells[CELLS];

static unsigned epoch = 1;  // of the block, between two barriers
// What a thread did at clock c is ordered before another if that has seen c.
struct Knowledge {
    unsigned epoch;
    int seen[MAX_THREADS];
};
static int clocks[MAX_THREADS];
static Knowledge known[MAX_THREADS];
constexpr unsigned LOCKS = 1024;  // addresses of atomic functions; those that share one count as the same
static Knowledge locks[LOCKS];

static unsigned me() { return (unsigned)(running - threads); }

static void learn(Knowledge& to, const Knowledge& from) {
    if (from.epoch != epoch) return;
    if (to.epoch != epoch) memset(to.seen, 0, block_threads() * sizeof *to.seen);
    to.epoch = epoch;
    for (unsigned i = 0; i < block_threads(); i++)
        if (to.seen[i] < from.seen[i]) to.seen[i] = from.seen[i];
}

static void learn_of(Knowledge& to, unsigned thread) {
    learn(to, known[thread]);
    if (to.epoch != epoch) memset(to.seen, 0, block_threads() * sizeof *to.seen);
    to.epoch = epoch;
    if (to.seen[thread] < clocks[thread]) to.seen[thread] = clocks[thread];
}

static bool is_ordered(const Access& access, unsigned thread) {
    if (access.epoch != epoch || access.thread == thread) return true;
    return known[thread].epoch == epoch && known[thread].seen[access.thread] >= access.clock;
}

// A write is told before it is done. What it changes is known at the next thing that is told.
struct Pending {
    size_t address;
    unsigned bytes;
    int block_clock;
    Access access;
    unsigned char before[64];
};
static Pending pending;

// Where threads look before they use an atomic function there, as in `if (best < mine) atomicMax(&best, mine)`: what they
// see may be old, and they know.
constexpr unsigned MOST_LOOKS = 64;
static unsigned looks[MOST_LOOKS], look_count;

static bool only_looks(const Access& read) {
    for (unsigned i = 0; i < look_count; i++)
        if (looks[i] == read.instruction) return true;
    return false;
}

// The last that a thread read: it looks there, where it uses an atomic function next. What it exchanges it may read between.
constexpr unsigned LAST = 4;
struct LastReads {
    size_t words[LAST];
    unsigned instructions[LAST], count;
};
static LastReads last_reads[MAX_THREADS];

static void note_look(size_t word) {
    const LastReads& last = last_reads[me()];
    for (unsigned i = 0; i < LAST && look_count < MOST_LOOKS; i++) {
        Access read = {};
        read.instruction = last.instructions[i];
        if (last.words[i] == word && !only_looks(read)) looks[look_count++] = last.instructions[i];
    }
}

// A thread that read what an atomic function changed, and may yet use one there itself.
struct Suspicion {
    size_t word;
    Access reading, writing;
};
static Suspicion suspicions[MAX_THREADS];

[[noreturn]] static void accuse_of_race(size_t address, const Access& one, const Access& other, const char* one_does,
                                        const char* other_does) {
    char name[40], text[400];
    uint3 a = threads[one.thread].index, b = threads[other.thread].index;
    snprintf(text, sizeof text,
             "thread %u,%u,%u %s %s in line {%x}, thread %u,%u,%u %s the same in line {%x}, and no barrier is between",
             a.x, a.y, a.z, one_does, name_of(address, name), one.instruction, b.x, b.y, b.z, other_does,
             other.instruction);
    explain("%s (block %u,%u,%u)", text, blockIdx.x, blockIdx.y, blockIdx.z);
    stop(RACED);
}

static Cell& cell_of(size_t word) {
    Cell& cell = cells[(word * 0x9e3779b97f4a7c15ull >> 32) % CELLS];
    if (cell.word != word) cell = Cell{word, {}, {}};
    return cell;
}

// What changes nothing harms nobody: threads may all write the same.
static void note_write(size_t word, const Access& access) {
    Cell& cell = cell_of(word);
    const Access& before = cell.write;
    bool atomic = access.is_atomic && before.is_atomic;
    if (access.changes) {
        if (before.bytes & access.bytes && !atomic && !is_ordered(before, access.thread))
            accuse_of_race(word * 4, before, access, "writes", "writes");
        for (const Access& read : cell.reads)
            if (read.bytes & access.bytes && !is_ordered(read, access.thread) && !access.is_volatile &&
                !(access.is_atomic && only_looks(read)))
                accuse_of_race(word * 4, read, access, "reads", "writes");
    }
    if (access.changes || !before.changes || before.epoch != epoch) cell.write = access;
    if (access.is_atomic)
        for (Access& read : cell.reads)
            if (read.thread == access.thread) read.epoch = 0;
}

static void settle() {
    if (pending.bytes == 0) return;
    const unsigned char* now = (const unsigned char*)pending.address;
    size_t first = pending.address / 4, last = (pending.address + pending.bytes - 1) / 4;
    unsigned bytes = pending.bytes;
    bool changes = memcmp(now, pending.before, bytes) != 0;
    pending.bytes = 0;
    if (pending.access.is_volatile || pending.access.tells)
        note_telling(pending.address, changes, pending.access.is_volatile || pending.access.is_unread, pending.block_clock,
                     pending.access.instruction);
    else if (pending.access.is_atomic)
        changes ? note_update(pending.address) : end_look(pending.address, bytes, pending.access.instruction);
    for (size_t word = first; word <= last; word++) {
        Access access = pending.access;
        unsigned original = *(const unsigned*)(word * 4);
        access.bytes = 0;
        for (unsigned i = 0; i < 4; i++) {
            size_t at = word * 4 + i - pending.address;
            if (at >= bytes) continue;
            access.bytes |= (unsigned char)(1u << i);
            access.changes |= now[at] != pending.before[at];
            ((unsigned char*)&original)[i] = pending.before[at];
        }
        note_write(word, access);
        if (access.changes && !access.is_volatile)
            note_change(word, original, access.bytes, access.is_atomic, pending.block_clock, access.instruction);
    }
}

static void note_read(size_t word, const Access& access) {
    Cell& cell = cell_of(word);
    const Access& last = cell.write;
    if (last.changes && !last.is_volatile && last.bytes & access.bytes && !is_ordered(last, access.thread)) {
        if (!cell.write.is_atomic) accuse_of_race(word * 4, cell.write, access, "writes", "reads");
        if (suspicions[access.thread].word == 0) suspicions[access.thread] = {word, access, cell.write};
    }
    Access* place = &cell.reads[0];
    if (place->epoch == epoch && place->thread != access.thread) place = &cell.reads[1];
    bool again = place->epoch == epoch && place->thread == access.thread && place->clock == access.clock;
    unsigned char bytes = again ? place->bytes : 0;
    *place = access;
    place->bytes |= bytes;
}

static bool is_watched(size_t address) { return running && !stacks().holds(address); }

static Access access_by(const void* instruction) {
    return {epoch, clocks[me()], offset_of(instruction), (unsigned short)me(), 0, false, false, false, false, false};
}

static void read(size_t address, unsigned bytes, const void* instruction) {
    settle();
    if (!is_watched(address)) return;
    Access access = access_by(instruction);
    for (size_t word = address / 4; word <= (address + bytes - 1) / 4; word++) {
        size_t from = word * 4 < address ? address % 4 : 0;
        size_t to = word * 4 + 4 > address + bytes ? (address + bytes) % 4 : 4;
        access.bytes = (unsigned char)((1u << to) - (1u << from));
        note_read(word, access);
        note_reading(word, access.bytes, access.instruction);
    }
    LastReads& last = last_reads[me()];
    unsigned place = last.count++ % LAST;
    last.words[place] = address / 4;
    last.instructions[place] = access.instruction;
}

static void write(size_t address, unsigned bytes, const void* instruction) {
    settle();
    if (!is_watched(address) || bytes > sizeof pending.before) return;
    pending.address = address;
    pending.bytes = bytes;
    pending.block_clock = block_clock();
    pending.access = access_by(instruction);
    memcpy(pending.before, (const void*)address, bytes);
}

static void dispel(unsigned thread) {
    const Suspicion& one = suspicions[thread];
    if (one.word && one.reading.epoch == epoch && !only_looks(one.reading))
        accuse_of_race(one.word * 4, one.writing, one.reading, "changes", "reads");
}

bool watch_launch() {
    epoch++;
    pending.bytes = 0;
    begin_blocks();
    return true;
}

void watch_exit() {
    settle();
    dispel(me());
    suspicions[me()].word = 0;
}

// A barrier is one for whole warps: on a GPU lanes that come to it by two ways may wait for each other, or not at all.
void watch_arrival(const char* operation, int line) {
    settle();
    for (unsigned i = me() / WARP * WARP; i < block_threads() && i / WARP == me() / WARP; i++) {
        const Thread& other = threads[i];
        if (other.waits != Wait::barrier || other.line == line) continue;
        explain("thread %u,%u,%u waits at %s in line %d, and thread %u,%u,%u of its warp at %s in line %d (block %u,%u,%u)",
                other.index.x, other.index.y, other.index.z, other.operation, other.line, threadIdx.x, threadIdx.y,
                threadIdx.z, operation, line, blockIdx.x, blockIdx.y, blockIdx.z);
        stop(RACED);
    }
}

void watch_barrier() {
    settle();
    for (unsigned i = 0; i < block_threads(); i++) dispel(i);
    for (unsigned i = 0; i < block_threads(); i++) suspicions[i].word = 0;
    epoch++;
}

void watch_exchange(unsigned first_thread, unsigned lanes) {
    static Knowledge all;
    settle();
    all.epoch = 0;
    for (unsigned i = 0; i < WARP; i++)
        if (lanes >> i & 1) learn_of(all, first_thread + i);
    for (unsigned i = 0; i < WARP; i++) {
        if (!(lanes >> i & 1)) continue;
        learn(known[first_thread + i], all);
        clocks[first_thread + i]++;
    }
}

void watch_atomic(const volatile void* memory, size_t bytes, bool is_exchange, const void* instruction) {
    settle();
    size_t address = (size_t)memory;
    Knowledge& lock = locks[(address / 4 * 0x9e3779b97f4a7c15ull >> 32) % LOCKS];
    Suspicion& suspicion = suspicions[me()];
    learn(known[me()], lock);
    if (suspicion.word == address / 4) suspicion.word = 0;
    note_look(address / 4);
    if (!is_exchange) begin_look(address);  // what the block saw before it stores counts
    write(address, (unsigned)bytes, instruction);
    pending.access.is_atomic = true;
    pending.access.tells = is_exchange;
    learn_of(lock, me());
    clocks[me()]++;
    order_blocks(address);
}

void watch_unread() {
    if (pending.bytes && pending.access.tells && pending.access.thread == me()) pending.access.is_unread = true;
}

// Threads wait for each other by what is volatile, so who reads it may come after who wrote it; of two who write it
// something else, one is lost.
static void watch_volatile(size_t address) {
    settle();
    if (is_watched(address)) order_blocks(address);
}

static void watch_volatile_read(size_t address, unsigned bytes, const void* instruction) {
    settle();
    if (!is_watched(address)) return;
    begin_look(address);
    order_blocks(address);
    end_look(address, bytes, offset_of(instruction));
}

static void watch_volatile_write(size_t address, unsigned bytes, const void* instruction) {
    watch_volatile(address);
    write(address, bytes, instruction);
    pending.access.is_volatile = true;
}

}  // namespace tuner_emulator

using namespace tuner_emulator;

#pragma GCC visibility push(hidden)
extern "C" {
#define TUNER_ACCESS(name, bytes)                                                                    \
    void __tsan_##name##read##bytes(void* memory) { read((size_t)memory, bytes, __builtin_return_address(0)); } \
    void __tsan_##name##write##bytes(void* memory) { write((size_t)memory, bytes, __builtin_return_address(0)); }
#define TUNER_VOLATILE(bytes)                              \
    void __tsan_volatile_read##bytes(void* memory) {       \
        watch_volatile_read((size_t)memory, bytes, __builtin_return_address(0)); \
    }                                                      \
    void __tsan_volatile_write##bytes(void* memory) {      \
        watch_volatile_write((size_t)memory, bytes, __builtin_return_address(0)); \
    }
#define TUNER_ACCESSES(bytes)         \
    TUNER_ACCESS(, bytes)             \
    TUNER_VOLATILE(bytes)
#define TUNER_UNALIGNED(bytes)        \
    TUNER_ACCESS(unaligned_, bytes)   \
    void __tsan_unaligned_volatile_read##bytes(void* memory) {       \
        watch_volatile_read((size_t)memory, bytes, __builtin_return_address(0)); \
    }                                                                \
    void __tsan_unaligned_volatile_write##bytes(void* memory) {      \
        watch_volatile_write((size_t)memory, bytes, __builtin_return_address(0)); \
    }
TUNER_ACCESSES(1)
TUNER_ACCESSES(2)
TUNER_ACCESSES(4)
TUNER_ACCESSES(8)
TUNER_ACCESSES(16)
TUNER_UNALIGNED(2)
TUNER_UNALIGNED(4)
TUNER_UNALIGNED(8)
TUNER_UNALIGNED(16)
void __tsan_read_range(void* memory, size_t bytes) {
    if (bytes) read((size_t)memory, (unsigned)bytes, __builtin_return_address(0));
}
void __tsan_write_range(void* memory, size_t bytes) {
    if (bytes) write((size_t)memory, (unsigned)bytes, __builtin_return_address(0));
}
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
#pragma GCC visibility pop
