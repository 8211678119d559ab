// Asynchronous copies that the threads of a group share.
#pragma once
#include <cooperative_groups.h>
#include <tuner_emulator/copies.h>

namespace cooperative_groups {

template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
    constexpr size_t PART = 16;
    for (size_t at = group.thread_rank() * PART; at < bytes; at += group.size() * PART) {
        size_t part = bytes - at < PART ? bytes - at : PART;
        tuner_emulator::begin_copy((char*)to + at, (const char*)from + at, part, 0);
    }
    tuner_emulator::commit_copies();
}

/* Of so many elements as both have. */
template <class Group, class T>
void memcpy_async(const Group& group, T* to, size_t room, const T* from, size_t count) {
    memcpy_async(group, to, from, (room < count ? room : count) * sizeof(T));
}

/* Waits for all copies of the group but those that the latest so many calls began. */
template <unsigned Calls, class Group>
void wait_prior(const Group& group, TUNER_LINE) {
    tuner_emulator::wait_for_copies(Calls);
    group.sync(line);
}
template <class Group>
void wait(const Group& group, TUNER_LINE) {
    wait_prior<0>(group, line);
}

}  // namespace cooperative_groups
