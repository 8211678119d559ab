/* Notes where a fatal fault happened, for the parent process. Valid as C and as C++. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Laid out as `FaultNote` in tui_tuner.evaluate.devices.native_report. */
struct tuner_fault {
    int number;         /* of the signal; 0 until a fault */
    int code;           /* si_code */
    void* address;      /* si_addr */
    int placed;         /* whether `place` is known */
    unsigned place[6];  /* block x, y, z, thread x, y, z */
};

/* Only the emulator's runtime defines it. */
void tuner_place(unsigned* place) __attribute__((weak));

static struct tuner_fault* note;
static char handler_stack[1 << 16];

static void on_fault(int number, siginfo_t* info, void* context) {
    (void)context;
    note->number = number;
    note->code = info->si_code;
    note->address = info->si_addr;
    if (tuner_place) {
        tuner_place(note->place);
        note->placed = 1;
    }
    signal(number, SIG_DFL); /* the instruction runs again and ends the process as its signal says */
}

__attribute__((visibility("default"))) void tuner_watch(struct tuner_fault* page) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    stack_t stack;
    struct sigaction action;
    size_t i;
    note = page;
    stack.ss_sp = handler_stack;
    stack.ss_flags = 0;
    stack.ss_size = sizeof handler_stack;
    sigaltstack(&stack, NULL);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
}

#ifdef __cplusplus
}
#endif
