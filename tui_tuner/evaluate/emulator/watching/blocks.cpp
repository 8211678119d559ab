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

// A flag, a counter or a lock, by which blocks tell each other something.
struct Signal {
    size_t address;
    unsigned launch;
    bool changed, was_changed;  // in this launch, in one before
    unsigned teller, told_in;   // the first block that stored there, and its line
    unsigned looker;            // the block that looked there last, and did nothing there since
    size_t looked, taken_from;  // what it saw; what the taker had seen
    unsigned taker, taken_in;   // the block that changed what it had looked at
    int told_at, taken_at;
    bool knows_teller, knows_taker;  // whether the looker knew already, from elsewhere, what they did
};
static Signal signals[LOCKS];

static Signal& signal_at(size_t address) {
    Signal& one = signals[slot(address, LOCKS)];
    bool is_known = one.address == address, was_changed = is_known && (one.was_changed || one.changed);
    if (is_known && one.launch == launch) return one;
    one = {};
    one.address = address, one.launch = launch, one.was_changed = was_changed;
    return one;
}

[[noreturn]] static void accuse_of(const char* format, const Signal& one, unsigned other, unsigned its, unsigned mine) {
    char name[40], text[400];
    uint3 a = places[other];
    snprintf(text, sizeof text, format, a.x, a.y, a.z, blockIdx.x, blockIdx.y, blockIdx.z, name_of(one.address, name), its,
             mine);
    explain("%s", text);
    stop(RACED);
}

void begin_look(size_t address) {
    if (!is_watched(address)) return;
    Signal& one = signal_at(address);
    one.knows_teller = known.seen[one.teller] >= one.told_at;
    one.knows_taker = known.seen[one.taker] >= one.taken_at;
}

// What a block stores changes nothing, where an earlier launch left the same: who waits for it may go on before.
void end_look(size_t address, unsigned bytes, unsigned instruction) {
    if (!is_watched(address)) return;
    Signal& one = signal_at(address);
    bool is_told = one.teller && one.teller != block && !one.knows_teller;
    if (is_told && one.was_changed && !one.changed && argument_at(address) == 0)
        accuse_of("block %u,%u,%u tells block %u,%u,%u by %s in line {%x}, which reads it in line {%x}, what an earlier "
                  "launch left there: it may go on before it is told", one, one.teller, one.told_in, instruction);
    one.looker = block, one.looked = 0;
    memcpy(&one.looked, (const void*)address, bytes < sizeof one.looked ? bytes : sizeof one.looked);
}

// Two blocks that saw the same, and stored something there, would both have done so at once.
void note_telling(size_t address, bool changes, bool is_plain, int clock, unsigned instruction) {
    if (!is_watched(address)) return;
    Signal& one = signal_at(address);
    if (one.teller == 0) one.teller = block, one.told_in = instruction, one.told_at = clock;
    one.changed |= changes;
    if (changes && is_plain && one.looker == block) {
        if (one.taker && one.taker != block && one.taken_from == one.looked && !one.knows_taker)
            accuse_of("blocks %u,%u,%u and %u,%u,%u see the same of %s and then change it, in lines {%x} and {%x}: both may "
                      "at once", one, one.taker, one.taken_in, instruction);
        one.taker = block, one.taken_in = instruction, one.taken_at = clock, one.taken_from = one.looked;
    }
    one.looker = 0;
}

void note_update(size_t address) {
    if (!is_watched(address)) return;
    Signal& one = signal_at(address);
    one.changed = true, one.looker = 0;
}

}  // namespace tuner_emulator
