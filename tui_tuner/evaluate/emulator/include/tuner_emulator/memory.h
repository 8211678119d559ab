// Loads and stores with cache hints, which mean nothing here, and assertions.
#pragma once
#include "runtime.h"

#define TUNER_LOAD(name) \
    template <class T>   \
    T name(const T* address) { return *address; }
TUNER_LOAD(__ldg)
TUNER_LOAD(__ldca)
TUNER_LOAD(__ldcg)
TUNER_LOAD(__ldcs)
TUNER_LOAD(__ldcv)
TUNER_LOAD(__ldlu)
#undef TUNER_LOAD
#define TUNER_STORE(name) \
    template <class T>    \
    void name(T* address, T value) { *address = value; }
TUNER_STORE(__stcg)
TUNER_STORE(__stcs)
TUNER_STORE(__stwb)
TUNER_STORE(__stwt)
#undef TUNER_STORE

// Addresses in the spaces of memory, which only PTX can use.
#define TUNER_SPACE(space)                                                                  \
    inline size_t __cvta_generic_to_##space(const void* address) { return (size_t)address; } \
    inline void* __cvta_##space##_to_generic(size_t address) { return (void*)address; }
TUNER_SPACE(global)
TUNER_SPACE(shared)
TUNER_SPACE(local)
TUNER_SPACE(constant)
#undef TUNER_SPACE

inline void __trap(int line = __builtin_LINE()) { tuner_emulator::trap("__trap()", line); }
inline void __brkpt(int line = __builtin_LINE()) { tuner_emulator::trap("__brkpt()", line); }

inline long long clock64() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
