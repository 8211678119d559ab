// Atomic functions: threads switch only at barriers, so plain memory operations are atomic.
#pragma once
#include "runtime.h"

namespace tuner_emulator {

// Whether a type is one of those, as the compiler of CUDA has no instance of the function for others.
template <class T, class... Others>
struct IsOneOf { static constexpr bool value = false; };
template <class T, class First, class... Others>
struct IsOneOf<T, First, Others...> { static constexpr bool value = IsOneOf<T, Others...>::value; };
template <class T, class... Others>
struct IsOneOf<T, T, Others...> { static constexpr bool value = true; };
template <class T>
struct IsSmallFloat { static constexpr bool value = false; };
template <bool holds>
struct Where {};
template <>
struct Where<true> { using type = int; };

// A loop that waits for another thread shows as an atomic that changes nothing.
template <class T>
TUNER_UNWATCHED inline __forceinline__ T exchange_value(T* address, T value) {
    if (atomics_are_told) note_atomic(address, sizeof(T), Atomic::exchange, __builtin_return_address(0));
    T old = *address;
    *address = value;
    if (old == value) yield();
    return old;
}

template <class T>
TUNER_UNWATCHED inline __forceinline__ T compare_and_swap(T* address, T compare, T value) {
    if (atomics_are_told) note_atomic(address, sizeof(T), Atomic::swap, __builtin_return_address(0));
    T old = *address;
    if (old == compare) *address = value;
    else yield();
    return old;
}

}  // namespace tuner_emulator

// The types come last, since they are many.
#define TUNER_ATOMIC_AS(name, expression, ...)                                                  \
    template <class T, class V, typename tuner_emulator::Where<__VA_ARGS__>::type = 0>          \
    TUNER_UNWATCHED T name(T* address, V operand) {                                             \
        T value = (T)operand;                                                                   \
        if (tuner_emulator::atomics_are_told &&                                                 \
            tuner_emulator::note_atomic(address, sizeof(T), tuner_emulator::Atomic::update, __builtin_return_address(0))) { \
            T old = *address;                                                                   \
            *address = (expression);                                                            \
        }                                                                                       \
        T old = *address;                                                                       \
        *address = (expression);                                                                \
        return old;                                                                             \
    }
#define TUNER_ATOMIC(name, expression, ...)                  \
    TUNER_ATOMIC_AS(name, expression, __VA_ARGS__)           \
    TUNER_ATOMIC_AS(name##_block, expression, __VA_ARGS__)   \
    TUNER_ATOMIC_AS(name##_system, expression, __VA_ARGS__)
#define TUNER_ONE_OF(...) tuner_emulator::IsOneOf<T, __VA_ARGS__>::value
#define TUNER_WHOLE int, unsigned, long long, unsigned long long
TUNER_ATOMIC(atomicAdd, old + value,
             TUNER_ONE_OF(int, unsigned, unsigned long long, float, double) || tuner_emulator::IsSmallFloat<T>::value)
TUNER_ATOMIC(atomicSub, old - value, TUNER_ONE_OF(int, unsigned))
TUNER_ATOMIC(atomicMin, value < old ? value : old, TUNER_ONE_OF(TUNER_WHOLE))
TUNER_ATOMIC(atomicMax, old < value ? value : old, TUNER_ONE_OF(TUNER_WHOLE))
TUNER_ATOMIC(atomicAnd, old & value, TUNER_ONE_OF(TUNER_WHOLE))
TUNER_ATOMIC(atomicOr, old | value, TUNER_ONE_OF(TUNER_WHOLE))
TUNER_ATOMIC(atomicXor, old ^ value, TUNER_ONE_OF(TUNER_WHOLE))
TUNER_ATOMIC(atomicInc, old >= value ? T(0) : old + 1, TUNER_ONE_OF(unsigned))
TUNER_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1, TUNER_ONE_OF(unsigned))
#undef TUNER_ATOMIC
#undef TUNER_ATOMIC_AS
#undef TUNER_WHOLE

#define TUNER_SWAP(suffix)                                                                          \
    template <class T, class V,                                                                     \
              typename tuner_emulator::Where<TUNER_ONE_OF(int, unsigned, unsigned long long, float)>::type = 0> \
    TUNER_UNWATCHED T atomicExch##suffix(T* address, V value) {                                                     \
        return tuner_emulator::exchange_value(address, (T)value);                                   \
    }                                                                                               \
    template <class T, class C, class V,                                                            \
              typename tuner_emulator::Where<TUNER_ONE_OF(unsigned short, int, unsigned, unsigned long long)>::type = 0> \
    TUNER_UNWATCHED T atomicCAS##suffix(T* address, C compare, V value) {                                           \
        return tuner_emulator::compare_and_swap(address, (T)compare, (T)value);                     \
    }
TUNER_SWAP()
TUNER_SWAP(_block)
TUNER_SWAP(_system)
#undef TUNER_SWAP
#undef TUNER_ONE_OF
