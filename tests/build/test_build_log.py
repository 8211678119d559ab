"""What is kept of a compiler's log, and the failure it comes down to."""

from pathlib import Path

from tui_tuner.evaluate.build.compilers import MAX_CHARACTERS, MAX_ERRORS, cleaned, compile_failure
from tui_tuner.evaluate.results import FailureKind

WORK = Path("/tmp/run/builds/work-x")  # noqa: S108 - a name only
TOOLKIT = Path("/opt/cuda")


def test_the_message_is_the_first_error_in_one_form_whichever_part_of_the_compiler_speaks():
    nvcc = 'kernel.cu(12): error: identifier "y" is undefined\n  int x = y;\n          ^\n\n1 error detected\n'
    clang = "1 error generated.\n1 warning and 2 errors generated.\nkernel.cl:4:24: error: undeclared identifier 'y'\n"
    gcc = "kernel.cu:3:10: fatal error: nix.h: No such file or directory\n    3 | #include <nix.h>\n"

    assert compile_failure(nvcc, WORK, ()).message == 'kernel.cu:12: error: identifier "y" is undefined'
    assert compile_failure(clang, WORK, ()).message == "kernel.cl:4:24: error: undeclared identifier 'y'"
    assert compile_failure(gcc, WORK, ()).message == "kernel.cu:3:10: fatal error: nix.h: No such file or directory"


def test_what_a_header_lacks_that_an_option_names_is_told():
    """Not what stands in a file there that is none, as one that a candidate includes to have it quoted."""
    user = Path("/home/user/project/kernels")
    log = "In file included from kernel.cu:1:\n{0}:3:10: fatal error: ggml.h: No such file or directory\n    3 | secret"

    told = compile_failure(log.format(user / "common.cuh"), WORK, (user,))

    assert "common.cuh:3:10: fatal error: ggml.h: No such file or directory" in told.message
    assert "secret" not in compile_failure(log.format(user / "password.txt"), WORK, (user,)).detail


def test_a_message_about_a_foreign_file_is_dropped_with_the_lines_it_quotes():
    log = (
        "In file included from kernel.cu:1:\n"
        "/etc/passwd:1:1: error: 'root' does not name a type\n"
        "    1 | root:x:0:0\n      | ^~~~\n"
        "/usr/share/../../home/me/include/secret.h(3): error: bad\n  password\n"
        "kernel.cu(2): error: expected a ';'\n  int a\n"
    )

    detail = cleaned(log, WORK, (TOOLKIT,))

    assert "root" not in detail
    assert "password" not in detail
    assert "kernel.cu:2: error: expected a ';'\n  int a" in detail


def test_a_message_about_a_header_of_the_toolkit_is_kept():
    log = "/opt/cuda/bin/../targets/x/include/cuda_fp16.hpp(9): error: no operator\n  a + b\n"

    assert "cuda_fp16.hpp:9: error: no operator\n  a + b" in cleaned(log, WORK, (TOOLKIT,))


def test_paths_keys_and_control_characters_do_not_leave():
    log = f"{WORK}/kernel.cu(1): error: sk-abcdefghijklmnopqrstuvwx \x1b]0;title\x07 {Path.home()}/x \u202e\n"

    detail = cleaned(log, WORK, ())

    assert detail == "<work>/kernel.cu:1: error: [key]  ~/x <U+202E>"


def test_only_the_first_errors_are_kept_and_what_ptxas_and_nvcc_add_is_not():
    log = "ptxas info    : 0 bytes gmem\n" + "".join(f"kernel.cu({n}): error: no {n}\n" for n in range(1, 50))

    lines = cleaned(log, WORK, ()).splitlines()

    assert lines[0] == "kernel.cu:1: error: no 1"
    assert lines[-1] == "[more errors left out]"
    assert len(lines) == MAX_ERRORS + 1


def test_a_long_log_is_cut():
    assert len(cleaned("kernel.cu(1): error: " + "x" * 100_000, WORK, ())) < MAX_CHARACTERS + 10


def test_too_much_shared_memory_is_a_launch_failure_with_numbers_people_can_read():
    log = "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0xc004 bytes, 0xc000 max)\n"

    failure = compile_failure(log, WORK, ())

    assert failure.kind is FailureKind.LAUNCH
    assert failure.message == "uses too much shared data (49156 bytes, 49152 max)"


def test_a_compiler_that_runs_out_of_memory_says_so():
    failure = compile_failure("\ncc1plus: out of memory allocating 805306464 bytes\n\n", WORK, ())

    assert failure.message == "cc1plus: out of memory allocating 805306464 bytes"


def test_a_log_without_a_reason_still_is_a_compile_error():
    failure = compile_failure("", WORK, ())

    assert (failure.kind, failure.message) == (FailureKind.COMPILE, "the compiler gave no reason")
