// Calls a kernel of any signature with arguments of which only the addresses are known.
#pragma once
#include "runtime.h"

namespace tuner_emulator {

template <class T>
struct Value { using type = T; };
template <class T>
struct Value<const T> { using type = T; };

template <unsigned... I>
struct Indices {};
template <unsigned N, unsigned... I>
struct IndicesTo : IndicesTo<N - 1, N - 1, I...> {};
template <unsigned... I>
struct IndicesTo<0, I...> { using type = Indices<I...>; };

template <class... A, unsigned... I>
inline void invoke(void (*kernel)(A...), void** arguments, Indices<I...>) {
    kernel(*static_cast<typename Value<A>::type*>(arguments[I])...);
}

template <class... A>
inline void invoke(void (*kernel)(A...), void** arguments) {
    invoke(kernel, arguments, typename IndicesTo<sizeof...(A)>::type());
}

}  // namespace tuner_emulator

// Exports the launch of one kernel. The name comes last, since it may contain commas.
// Its own names are such that no tunable has them, since tunables are macros where this stands.
#define TUNER_EXPORT_LAUNCH(...)                                                                            \
    static void tuner_thread(void** tuner_values) { tuner_emulator::invoke(__VA_ARGS__, tuner_values); }    \
    extern "C" __attribute__((visibility("default"))) int tuner_launch(                                     \
        const unsigned* tuner_geometry, void** tuner_values, char* tuner_text, unsigned tuner_bytes) {      \
        return tuner_emulator::run({tuner_geometry, tuner_values, tuner_thread, tuner_text, tuner_bytes});  \
    }
