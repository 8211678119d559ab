// Changes of the same global bytes by two blocks. Blocks run one after the other here, so what one reads, adds to and
// writes back comes out right; on a GPU one of two such updates is lost. They must be ordered, by an atomic function or a
// volatile access at an address that both used, or both be atomic. A block that only reads is accused where it was told
// in one of these ways, as by a flag, and no fence is between the change and that: it may see the flag before the change.
// Who was not told has wrong results in another order of the blocks, where that matters, unless it reads what is put back.
#include <stdio.h>
#include <string.h>

#include "report.h"

namespace tuner_emulator {

constexpr unsigned MOST_BLOCKS = 1024;  // those that run later are not watched
constexpr unsigned CELLS = 1u << 18, LOCKS = 1024;  // words, or addresses, that share one forget, which hides a race

struct Change {
    size_t word;
    unsigned launch, block, instruction;
    int clock;
    unsigned char bytes;
    bool is_atomic;
    unsigned original;  // what the block found there
};
static Change changes[CELLS];

// What a block did at clock c is ordered before another if that has seen c; a fence is between them if that was told c.
struct Order {
    unsigned launch;
    int seen[MOST_BLOCKS], told[MOST_BLOCKS];
};
static Order known, locks[LOCKS];
static uint3 places[MOST_BLOCKS];
static Span fixed, dynamic;
static unsigned launch, block;  // the latter counts in the order that they run in, from 1
static int clock_now, fenced;  // the latter at the last fence of the block

int block_clock() { return clock_now; }

static unsigned slot(size_t address, unsigned slots) {
    return (unsigned)((address / 4 * 0x9e3779b97f4a7c15ull >> 32) % slots);
}

static bool is_watched(size_t address) {
    return block < MOST_BLOCKS && !fixed.holds(address) && !dynamic.holds(address);
}

void begin_blocks() {
    launch++;
    block = 0;
    fixed = static_shared(), dynamic = dynamic_shared();
}

void watch_block() {
    block++;
    clock_now = 1, fenced = 0;
    memset(&known, 0, sizeof known);
    if (block < MOST_BLOCKS) places[block] = blockIdx;
}

void watch_fence() { fenced = clock_now++; }

static void join(int& one, int& other) { one = other = one < other ? other : one; }

void order_blocks(size_t address) {
    if (!is_watched(address)) return;
    Order& lock = locks[slot(address, LOCKS)];
    if (lock.launch != launch) memset(&lock, 0, sizeof lock);
    lock.launch = launch;
    for (unsigned i = 1; i < block; i++) {
        join(known.seen[i], lock.seen[i]);
        join(known.told[i], lock.told[i]);
    }
    lock.seen[block] = clock_now++;
    lock.told[block] = fenced;
}

[[noreturn]] static void accuse(const Change& one, const char* other_does, unsigned instruction, const char* missing) {
    char name[40], text[400];
    uint3 a = places[one.block];
    snprintf(text, sizeof text,
             "block %u,%u,%u changes %s in line {%x}, block %u,%u,%u %sthe same in line {%x}, and %s", a.x, a.y, a.z,
             name_of(one.word * 4, name), one.instruction, blockIdx.x, blockIdx.y, blockIdx.z, other_does, instruction,
             missing);
    explain("%s", text);
    stop(RACED);
}

static unsigned mask(unsigned char bytes) {
    unsigned bits = 0;
    for (unsigned i = 0; i < 4; i++) bits |= bytes >> i & 1 ? 0xffu << 8 * i : 0;
    return bits;
}

static unsigned content(size_t word, unsigned char bytes) { return *(const unsigned*)(word * 4) & mask(bytes); }

void note_reading(size_t word, unsigned char bytes, unsigned instruction) {
    if (!is_watched(word * 4)) return;
    const Change& last = changes[slot(word * 4, CELLS)];
    if (last.word != word || last.launch != launch || last.block == block || last.is_atomic || !(last.bytes & bytes)) return;
    bool is_seen = known.seen[last.block] >= last.clock;
    if (!is_seen && content(word, bytes) == (last.original & mask(bytes)))
        accuse(last, "reads ", instruction, "what is put back later is something else meanwhile");
    if (is_seen && known.told[last.block] < last.clock)
        accuse(last, "is told so and reads ", instruction, "no __threadfence is between");
}

void note_change(
    size_t word, unsigned original, unsigned char bytes, bool is_atomic, int clock, unsigned instruction) {
    if (!is_watched(word * 4)) return;
    Change& last = changes[slot(word * 4, CELLS)];
    const Change before = last;
    bool again = before.word == word && before.launch == launch && before.block == block;
    last = {word, launch, block, instruction, clock, bytes, is_atomic, again ? before.original : original};
    if (before.word != word || before.launch != launch || before.block == block || !(before.bytes & bytes)) return;
    if ((before.is_atomic && is_atomic) || known.seen[before.block] >= before.clock) return;
    accuse(before, "", instruction, "nothing orders them");
}

}  // namespace tuner_emulator
