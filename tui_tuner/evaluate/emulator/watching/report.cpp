#include "report.h"

#include <link.h>
#include <stdio.h>

namespace tuner_emulator {

constexpr unsigned MOST_ARRAYS = 64;
static Array arrays[MOST_ARRAYS];
static unsigned array_count;

unsigned argument_at(size_t address) {
    for (unsigned i = 0; i < array_count; i++)
        if (address - arrays[i].reserved < arrays[i].after - arrays[i].reserved) return i + 1;
    return 0;
}

const Array& argument_array(unsigned argument) { return arrays[argument - 1]; }

const char* name_of(size_t address, char (&text)[40]) {
    Span fixed = static_shared(), dynamic = dynamic_shared();
    if (fixed.holds(address) || dynamic.holds(address)) return "shared memory";
    unsigned argument = argument_at(address);
    if (argument == 0) return "memory";
    snprintf(text, sizeof text, "argument %u", argument);
    return text;
}

static int find_base(dl_phdr_info* info, size_t, void* result) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        if (part.p_type == PT_LOAD && (size_t)&arrays - info->dlpi_addr - part.p_vaddr < part.p_memsz) {
            *(size_t*)result = info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

unsigned offset_of(const void* instruction) {
    static size_t base = 0;
    if (base == 0) dl_iterate_phdr(find_base, &base);
    return (unsigned)((size_t)instruction - base - 1);  // it is where the call returns to
}

}  // namespace tuner_emulator

/* Tells the array arguments of the next launch; an element that is all zero stands for a scalar. */
extern "C" __attribute__((visibility("default"))) void tuner_arrays(const tuner_emulator::Array* given, unsigned count) {
    using namespace tuner_emulator;
    array_count = count < MOST_ARRAYS ? count : MOST_ARRAYS;
    for (unsigned i = 0; i < array_count; i++) arrays[i] = given[i];
}
