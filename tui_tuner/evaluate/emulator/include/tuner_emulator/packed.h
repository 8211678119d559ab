// Operations on the two halves or the four bytes of a word, each on its own.
#pragma once

namespace tuner_emulator {

template <class Part, class Operation>
unsigned of_parts(unsigned a, unsigned b, Operation operation) {
    constexpr unsigned BITS = 8 * sizeof(Part), ONES = (1u << BITS) - 1;
    unsigned result = 0;
    for (unsigned at = 0; at < 32; at += BITS) result |= ((unsigned)operation((Part)(a >> at), (Part)(b >> at)) & ONES) << at;
    return result;
}

}  // namespace tuner_emulator

#define TUNER_PARTS(name, Part, result)                                                                 \
    inline unsigned name(unsigned a, unsigned b) {                                                      \
        return tuner_emulator::of_parts<Part>(a, b, [](Part x, Part y) { return (unsigned)(result); }); \
    }
#define TUNER_WITHOUT_SIGN(name, result) \
    TUNER_PARTS(name##2, unsigned short, result) TUNER_PARTS(name##4, unsigned char, result)
#define TUNER_EITHER_SIGN(name, result)                                                 \
    TUNER_PARTS(name##s2, short, result) TUNER_PARTS(name##s4, signed char, result)     \
    TUNER_WITHOUT_SIGN(name##u, result)
// Where a relation holds, `__vcmp` has all bits of a part, and `__vset` the lowest.
#define TUNER_COMPARED(SIGN, name, relation) \
    SIGN(__vcmp##name, x relation y ? ~0u : 0u) SIGN(__vset##name, x relation y)

TUNER_WITHOUT_SIGN(__vadd, x + y)
TUNER_WITHOUT_SIGN(__vsub, x - y)
TUNER_EITHER_SIGN(__vmax, x > y ? x : y)
TUNER_EITHER_SIGN(__vmin, x < y ? x : y)
TUNER_EITHER_SIGN(__vabsdiff, x > y ? x - y : y - x)
TUNER_COMPARED(TUNER_WITHOUT_SIGN, eq, ==)
TUNER_COMPARED(TUNER_WITHOUT_SIGN, ne, !=)
TUNER_COMPARED(TUNER_EITHER_SIGN, gt, >)
TUNER_COMPARED(TUNER_EITHER_SIGN, ge, >=)
TUNER_COMPARED(TUNER_EITHER_SIGN, lt, <)
TUNER_COMPARED(TUNER_EITHER_SIGN, le, <=)

#undef TUNER_PARTS
#undef TUNER_WITHOUT_SIGN
#undef TUNER_EITHER_SIGN
#undef TUNER_COMPARED
