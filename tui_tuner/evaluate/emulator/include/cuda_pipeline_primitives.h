// Asynchronous copies of 4, 8 or 16 bytes.
#pragma once
#include <tuner_emulator/copies.h>
#include <tuner_emulator/device.h>

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0, TUNER_LINE) {
    const bool is_size = bytes == 4 || bytes == 8 || bytes == 16;
    if (!is_size || zeros > bytes) tuner_emulator::trap("__pipeline_memcpy_async of a size that it does not take", line);
    if (((size_t)to | (size_t)from) % bytes)
        tuner_emulator::trap("__pipeline_memcpy_async at an address that is no multiple of its size", line);
    tuner_emulator::begin_copy(to, from, bytes, zeros);
}
inline void __pipeline_commit() { tuner_emulator::commit_copies(); }
inline void __pipeline_wait_prior(size_t groups) { tuner_emulator::wait_for_copies(groups); }
