// Asynchronous copies of a thread, which land when they like until they are waited for. In every other block they are
// late and land when the thread waits, in those between at once: a wait that is missing shows in the one, what must not
// be written yet in the other.
#pragma once
#include "runtime.h"

namespace tuner_emulator {

struct Copy {
    char* to;
    const char* from;
    unsigned bytes, zeros, group;  // of them zeros at the end, which are not read
};

constexpr unsigned MOST_COPIES = 64;

struct Copies {
    unsigned long long block;
    unsigned groups, count;  // that the thread has committed; copies that have not landed
    Copy under_way[MOST_COPIES];
};
inline Copies copies[1024];  // of each thread of a block

inline void land(const Copy& copy) {
    for (unsigned i = 0; i < copy.bytes; i++) copy.to[i] = i < copy.bytes - copy.zeros ? copy.from[i] : 0;
}

TUNER_UNWATCHED inline Copies& copies_here() {
    Copies& mine = copies[rank_in(blockDim, threadIdx)];
    if (mine.block != blocks_begun) mine.block = blocks_begun, mine.groups = mine.count = 0;
    return mine;
}

/* Lands the oldest. */
TUNER_UNWATCHED inline void land_first(Copies& mine) {
    land(mine.under_way[0]);
    mine.count--;
    for (unsigned i = 0; i < mine.count; i++) mine.under_way[i] = mine.under_way[i + 1];
}

TUNER_UNWATCHED inline void begin_copy(void* to, const void* from, size_t bytes, size_t zeros) {
    Copies& mine = copies_here();
    const Copy copy = {(char*)to, (const char*)from, (unsigned)bytes, (unsigned)zeros, mine.groups};
    if (!copies_are_late) return land(copy);
    if (mine.count == MOST_COPIES) land_first(mine);
    mine.under_way[mine.count++] = copy;
}

TUNER_UNWATCHED inline void commit_copies() { copies_here().groups++; }

/* Lands all of the groups that were committed but the latest so many. */
TUNER_UNWATCHED inline void wait_for_copies(size_t but) {
    Copies& mine = copies_here();
    while (mine.count && mine.under_way[0].group + but < mine.groups) land_first(mine);
}

}  // namespace tuner_emulator
