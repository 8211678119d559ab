// What builds that watch every access have in common: arrays that they know, and places in words.
#pragma once
#include "../runtime/threads.h"

namespace tuner_emulator {

// An array argument between its guards. Laid out as `WatchedArray` in Python.
struct Array {
    size_t reserved, start, end, after;
};

/* The argument, counted from 1, that an address lies in or beside; 0 for none. */
unsigned argument_at(size_t address);
const Array& argument_array(unsigned argument);

/* Where an instruction lies in this library: the program that runs the kernel makes a line of it. */
unsigned offset_of(const void* instruction);

}  // namespace tuner_emulator
