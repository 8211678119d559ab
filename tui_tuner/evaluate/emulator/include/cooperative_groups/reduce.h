// Reductions of the threads of a group.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

#define TUNER_OPERATION(name, result)                                  \
    template <class T>                                                 \
    struct name {                                                      \
        T operator()(T a, T b) const { return (T)(result); }           \
    };
TUNER_OPERATION(plus, a + b)
TUNER_OPERATION(less, b < a ? b : a)
TUNER_OPERATION(greater, a < b ? b : a)
TUNER_OPERATION(bit_and, a & b)
TUNER_OPERATION(bit_or, a | b)
TUNER_OPERATION(bit_xor, a ^ b)
#undef TUNER_OPERATION

template <class T, class Operation>
T reduce(const lanes& present, T value, Operation operation, TUNER_LINE) {
    T whole = present.shfl(value, 0, line);
    for (unsigned rank = 1; rank < present.size(); ++rank) {
        whole = operation(whole, present.shfl(value, (int)rank, line));
    }
    return whole;
}

}  // namespace cooperative_groups
