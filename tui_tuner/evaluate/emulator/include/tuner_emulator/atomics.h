// Atomic functions: threads switch only at barriers, so plain memory operations are atomic.
#pragma once
#include "runtime.h"

namespace tuner_emulator {

// A loop that waits for another thread shows as an atomic that changes nothing.
template <class T>
T exchange_value(T* address, T value) {
    if (alone) note_atomic(address, true);
    T old = *address;
    *address = value;
    if (old == value) yield();
    return old;
}

template <class T>
T compare_and_swap(T* address, T compare, T value) {
    if (alone) note_atomic(address, true);
    T old = *address;
    if (old == compare) *address = value;
    else yield();
    return old;
}

}  // namespace tuner_emulator

#define TUNER_ATOMIC_AS(name, suffix, expression)                  \
    template <class T, class V>                                    \
    T name##suffix(T* address, V operand) {                        \
        if (tuner_emulator::alone) tuner_emulator::note_atomic(address, false); \
        T old = *address, value = (T)operand;                      \
        *address = (expression);                                   \
        return old;                                                \
    }
#define TUNER_ATOMIC(name, expression)              \
    TUNER_ATOMIC_AS(name, , expression)             \
    TUNER_ATOMIC_AS(name, _block, expression)       \
    TUNER_ATOMIC_AS(name, _system, expression)
TUNER_ATOMIC(atomicAdd, old + value)
TUNER_ATOMIC(atomicSub, old - value)
TUNER_ATOMIC(atomicMin, value < old ? value : old)
TUNER_ATOMIC(atomicMax, old < value ? value : old)
TUNER_ATOMIC(atomicAnd, old & value)
TUNER_ATOMIC(atomicOr, old | value)
TUNER_ATOMIC(atomicXor, old ^ value)
TUNER_ATOMIC(atomicInc, old >= value ? T(0) : old + 1)
TUNER_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef TUNER_ATOMIC
#undef TUNER_ATOMIC_AS

#define TUNER_SWAP(suffix)                                                                  \
    template <class T, class V>                                                             \
    T atomicExch##suffix(T* address, V value) {                                             \
        return tuner_emulator::exchange_value(address, (T)value);                           \
    }                                                                                       \
    template <class T, class C, class V>                                                    \
    T atomicCAS##suffix(T* address, C compare, V value) {                                   \
        return tuner_emulator::compare_and_swap(address, (T)compare, (T)value);             \
    }
TUNER_SWAP()
TUNER_SWAP(_block)
TUNER_SWAP(_system)
#undef TUNER_SWAP
