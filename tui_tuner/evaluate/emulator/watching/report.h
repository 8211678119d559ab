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

/* What lies at an address, in words; they may be written to the text. */
const char* name_of(size_t address, char (&text)[40]);

/* Where an instruction lies in this library: the program that runs the kernel makes a line of it. */
unsigned offset_of(const void* instruction);

/* To be called before the blocks of a launch run; what a block has done so far, as a number that grows; and that the
   running block used an atomic function or a volatile access at an address. */
void begin_blocks();
int block_clock();
void order_blocks(size_t address);

/* That it looks there, before it knows what that tells it, and what it saw; that it stores there whatever was there, and
   that it changed what it found, in one step. */
void begin_look(size_t address);
void end_look(size_t address, unsigned bytes, unsigned instruction);
void note_telling(size_t address, bool changes, bool is_plain, int clock, unsigned instruction);
void note_update(size_t address);

/* That it changed bytes, a bit each, of the four of a word, and what it found there; that it reads some. */
void note_change(
    size_t word, unsigned original, unsigned char bytes, bool is_atomic, int clock, unsigned instruction);
void note_reading(size_t word, unsigned char bytes, unsigned instruction);

}  // namespace tuner_emulator
