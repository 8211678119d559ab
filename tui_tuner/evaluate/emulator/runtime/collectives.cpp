// Barriers of a block and exchanges between the lanes of a warp.
#include "threads.h"

namespace tuner_emulator {

static BarrierVote arrived;
static BarrierVote outcome;  // read by all before the next barrier can complete

static void release_barrier() {
    outcome = arrived;
    arrived = {0, 0};
    if (watch_barrier) watch_barrier();
    for (unsigned i = 0; i < block_threads(); i++)
        if (Thread& thread = thread_in_order(i); thread.waits == Wait::barrier) wake(thread);
}

void settle_barrier() {
    if (arrived.voters && (unsigned)arrived.voters == live_threads()) release_barrier();
}

BarrierVote block_barrier(bool predicate, const char* operation, int line) {
    if (watch_arrival) watch_arrival(operation, line);
    arrived.voters++;
    arrived.ayes += predicate;
    if ((unsigned)arrived.voters == live_threads()) release_barrier();
    else wait(Wait::barrier, operation, line);
    return outcome;
}

int lane() { return (int)((running - threads) % WARP); }

static unsigned long long combine(Exchange exchange, unsigned long long a, unsigned long long b) {
    switch (exchange) {
        case Exchange::add: return a + b;
        case Exchange::min: return (long long)a < (long long)b ? a : b;
        case Exchange::max: return (long long)a < (long long)b ? b : a;
        case Exchange::bit_and: return a & b;
        case Exchange::bit_xor: return a ^ b;
        default: return a | b;
    }
}

static unsigned long long whole_result(Exchange exchange, const Thread* lanes, unsigned present) {
    unsigned long long result = 0;
    bool first = true;
    for (unsigned i = 0; i < WARP; i++) {
        if (!(present >> i & 1)) continue;
        unsigned long long deposit = exchange == Exchange::ballot ? lanes[i].deposit << i : lanes[i].deposit;
        result = first ? deposit : combine(exchange, result, deposit);
        first = false;
    }
    return result;
}

static unsigned long long lane_result(Exchange exchange, const Thread* lanes, unsigned present, unsigned i) {
    if (exchange == Exchange::shuffle) {
        int source = lanes[i].source;
        bool there = source >= 0 && source < (int)WARP && present >> source & 1;
        return there ? lanes[source].deposit : ~0ull;  // from a lane that is not there: poison
    }
    unsigned long long equal = 0;
    for (unsigned j = 0; j < WARP; j++)
        if (present >> j & 1 && lanes[j].deposit == lanes[i].deposit) equal |= 1ull << j;
    return equal;
}

static bool all_arrived(const Thread* lanes, unsigned present, unsigned waiting, unsigned mask, Exchange exchange) {
    if ((waiting & present) != present) return false;
    for (unsigned i = 0; i < WARP; i++)
        if (present >> i & 1 && (lanes[i].mask != mask || lanes[i].exchange != exchange)) return false;
    return true;
}

static bool complete(Warp& warp, Thread* lanes, unsigned mask, Exchange exchange) {
    unsigned present = mask & warp.live;
    if (!all_arrived(lanes, present, warp.waiting, mask, exchange)) return false;
    if (watch_exchange) watch_exchange((unsigned)(lanes - threads), present);
    bool each = exchange == Exchange::shuffle || exchange == Exchange::match;
    bool none = exchange == Exchange::sync;
    unsigned long long whole = each || none ? 0 : whole_result(exchange, lanes, present);
    warp.waiting &= ~present;
    for (unsigned i = 0; i < WARP; i++) {
        if (!(present >> i & 1)) continue;
        lanes[i].result = each ? lane_result(exchange, lanes, present, i) : whole;
        if (lanes[i].waits == Wait::exchange) wake(lanes[i]);
    }
    return true;
}

void settle_warp(Warp& warp, Thread* lanes) {
    for (unsigned i = 0; i < WARP; i++)
        if (warp.waiting >> i & 1) complete(warp, lanes, lanes[i].mask, lanes[i].exchange);
}

unsigned long long warp_exchange(
    Exchange exchange, unsigned mask, unsigned long long deposit, int source, const char* operation, int line) {
    unsigned position = (unsigned)(running - threads), lane = position % WARP;
    Warp& warp = warps[position / WARP];
    if (!(mask >> lane & 1)) {
        explain("lane %u calls %s in line %d with mask 0x%08x, which leaves it out", lane, operation, line, mask);
        stop(TRAPPED);
    }
    Thread& self = *running;
    self.exchange = exchange;
    self.mask = mask;
    self.deposit = deposit;
    self.source = source;
    warp.waiting |= 1u << lane;
    if (!complete(warp, &threads[position - lane], mask, exchange)) wait(Wait::exchange, operation, line);
    return running->result;
}

unsigned active_mask(int line) {
    wait(Wait::active_mask, "__activemask", line);
    return (unsigned)running->result;
}

static unsigned together(const Thread& thread) {
    const Thread* lanes = &threads[(&thread - threads) / WARP * WARP];
    unsigned mask = 0;
    for (unsigned i = 0; i < WARP; i++)
        if (lanes[i].waits == Wait::active_mask && lanes[i].line == thread.line) mask |= 1u << i;
    return mask;
}

// Those at the first line go on, so that they may meet the others at a later one, as branches do that join.
bool release_active_masks() {
    int first = 0;
    for (unsigned i = 0; i < block_threads(); i++) {
        const Thread& thread = threads[i];
        if (thread.waits == Wait::active_mask && (first == 0 || thread.line < first)) first = thread.line;
    }
    auto released = [first](const Thread& thread) { return thread.waits == Wait::active_mask && thread.line == first; };
    for (unsigned i = 0; i < block_threads(); i++)
        if (released(threads[i])) threads[i].result = together(threads[i]);
    for (unsigned i = 0; i < block_threads(); i++)
        if (released(threads[i])) wake(threads[i]);
    return first != 0;
}

}  // namespace tuner_emulator
