// The runtime of -fsanitize=kernel-address: every access of the kernel asks here whether it stays inside of its object.
// A byte of shadow stands for eight of memory: 0 where all may be touched, k for the first k, negative for none.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "report.h"

namespace tuner_emulator {

constexpr size_t SHADOW = 0x7fff8000, PAGE = 4096;  // the former is an option of the compiler as well
constexpr signed char BESIDE = (signed char)0xf9;

static signed char& shadow(size_t address) { return *(signed char*)((address >> 3) + SHADOW); }

// As the compiler lays it out.
struct Variable {
    size_t start, bytes, bytes_with_gap;
    const char *name, *file;
    size_t is_initialised_late, place, indicator;
};
constexpr unsigned MOST_VARIABLES = 4096;
static const Variable* variables[MOST_VARIABLES];
static unsigned variable_count;

static bool map_shadow(size_t first, size_t after) {
    constexpr int FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    first = (size_t)&shadow(first) / PAGE * PAGE;
    after = ((size_t)&shadow(after - 1) / PAGE + 1) * PAGE;
    bool all = true;
    for (size_t page = first; page < after; page += PAGE) {  // some may be there already, for a neighbour
        unsigned char there;
        if (mincore((void*)page, PAGE, &there) == 0) continue;
        all &= mmap((void*)page, PAGE, PROT_READ | PROT_WRITE, FLAGS, -1, 0) != MAP_FAILED;
    }
    return all;
}

static void know(const Variable& variable) {
    if (variable_count == MOST_VARIABLES || !map_shadow(variable.start, variable.start + variable.bytes_with_gap)) return;
    variables[variable_count++] = &variable;
    size_t end = variable.start + variable.bytes, whole = end / 8 * 8;
    for (size_t at = whole; at < variable.start + variable.bytes_with_gap; at += 8)
        shadow(at) = at == whole && end % 8 ? (signed char)(end % 8) : BESIDE;
}

static const Variable* variable_at(size_t address) {
    for (unsigned i = 0; i < variable_count; i++)
        if (address - variables[i]->start < variables[i]->bytes_with_gap) return variables[i];
    return nullptr;
}

static bool has_stack_shadow;

bool watch_launch() {
    Span all = stacks();
    constexpr int FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    size_t first = (size_t)&shadow(all.first) / PAGE * PAGE, after = ((size_t)&shadow(all.after - 1) / PAGE + 1) * PAGE;
    if (!has_stack_shadow && mmap((void*)first, after - first, PROT_READ | PROT_WRITE, FLAGS, -1, 0) == MAP_FAILED)
        return false;
    return has_stack_shadow = true;
}

static bool is_poisoned(size_t address, size_t bytes) {
    for (size_t granule = address / 8; granule <= (address + bytes - 1) / 8; granule++) {
        signed char allowed = shadow(granule * 8);
        size_t last = granule == (address + bytes - 1) / 8 ? (address + bytes - 1) % 8 : 7;
        if (allowed && (signed char)last >= allowed) return true;
    }
    return false;
}

static const char* beyond(size_t address, size_t bytes, char (&where)[160]) {
    if (stacks().holds(address)) return is_poisoned(address, bytes) ? "outside of a local array" : nullptr;
    if (const Variable* variable = variable_at(address)) {
        if (!is_poisoned(address, bytes)) return nullptr;
        snprintf(where, sizeof where, "%zu bytes past the end of '%.60s'",
                 address + bytes - variable->start - variable->bytes, variable->name);
        return where;
    }
    Span dynamic = dynamic_shared();
    if (address - dynamic.first < SHARED_ROOM) {
        if (address + bytes <= dynamic.after) return nullptr;
        snprintf(where, sizeof where, "past the %zu bytes of dynamic shared memory", dynamic.after - dynamic.first);
        return where;
    }
    unsigned argument = argument_at(address);
    if (argument == 0) return nullptr;  // the kernel's own code and constants; what is not there faults
    const Array& array = argument_array(argument);
    if (address >= array.start && address + bytes <= array.end) return nullptr;
    if (address < array.start)
        snprintf(where, sizeof where, "%zu bytes before the start of argument %u", array.start - address, argument);
    else
        snprintf(where, sizeof where, "%zu bytes past the end of argument %u", address + bytes - array.end, argument);
    return where;
}

static void check(const void* memory, size_t bytes, const char* verb, const void* instruction) {
    char where[160], text[320];
    const char* found = bytes ? beyond((size_t)memory, bytes, where) : nullptr;
    if (found == nullptr) return;
    snprintf(text, sizeof text, "line {%x} %s %s", offset_of(instruction), verb, found);
    explain("%s (block %u,%u,%u, thread %u,%u,%u)", text, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
            threadIdx.z);
    stop(OVERRUN);
}

}  // namespace tuner_emulator

using namespace tuner_emulator;

#define TUNER_ACCESS(bytes)                                                               \
    extern "C" __attribute__((visibility("hidden"))) void __asan_load##bytes##_noabort(const void* memory) {   \
        check(memory, bytes, "reads", __builtin_return_address(0));                       \
    }                                                                                     \
    extern "C" __attribute__((visibility("hidden"))) void __asan_store##bytes##_noabort(const void* memory) {  \
        check(memory, bytes, "writes", __builtin_return_address(0));                      \
    }
TUNER_ACCESS(1)
TUNER_ACCESS(2)
TUNER_ACCESS(4)
TUNER_ACCESS(8)
TUNER_ACCESS(16)
#undef TUNER_ACCESS

#pragma GCC visibility push(hidden)
extern "C" {
void __asan_loadN_noabort(const void* memory, size_t bytes) {
    check(memory, bytes, "reads", __builtin_return_address(0));
}
void __asan_storeN_noabort(const void* memory, size_t bytes) {
    check(memory, bytes, "writes", __builtin_return_address(0));
}
void __asan_register_globals(const Variable* given, size_t count) {
    for (size_t i = 0; i < count; i++) know(given[i]);
}
void __asan_unregister_globals(const Variable*, size_t) {}
void __asan_handle_no_return() {}
void __asan_before_dynamic_init(const char*) {}
void __asan_after_dynamic_init() {}
}
#pragma GCC visibility pop
