// A failed assertion ends the launch with its text. Included anew each time, as NDEBUG may change.
#include <tuner_emulator/runtime.h>

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
    ((condition) ? (void)0 : tuner_emulator::trap("assertion failed: " #condition, __LINE__))
#endif
