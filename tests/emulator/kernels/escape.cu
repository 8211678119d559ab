#include <stdio.h>
#include <unistd.h>

static int can_read, can_write, child;

// Runs when the library is loaded.
__attribute__((constructor)) static void escape() {
    can_read = fopen("/etc/passwd", "r") != NULL;
    FILE* file = fopen(TARGET_FILE, "w");
    can_write = file != NULL;
    if (file) fclose(file);
    child = fork();
    if (child == 0) pause();
}

__global__ void report(int* out) {
    out[0] = 1;
    out[1] = can_read;
    out[2] = can_write;
    out[3] = child;
}
