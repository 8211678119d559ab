"""Nothing that a kernel or a compiler starts outlives it, as root and as an ordinary user."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.bench import Bench, change_executors, descendants
from tui_tuner.errors import SandboxError
from tui_tuner.evaluate.build.compilers.emulator import EmulatorCompiler
from tui_tuner.evaluate.build.compilers.gnu import CCompiler
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.native.code import C_FUNCTION, EMULATED
from tui_tuner.evaluate.devices.native.device import NativeDevice
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.sandbox.confinement import abi_version
from tui_tuner.evaluate.sandbox.launcher import UNCONFINED
from tui_tuner.problem.candidate import Geometry

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(abi_version() == 0, reason="the operating system has no Landlock")

TRIES = """
#include <pthread.h>
#include <unistd.h>
static void *idle(void *given) { return given; }
static int tries(int *out) {
    pthread_t thread;
    out[0] = fork();
    if (out[0] == 0) { setsid(); for (;;) pause(); }
    out[1] = vfork();
    if (out[1] == 0) _exit(0);
    out[2] = execl("/usr/bin/true", "true", (char *)0);
    out[3] = pthread_create(&thread, 0, idle, 0);
    if (out[3] == 0) pthread_join(thread, 0);
    return 0;
}
"""
IN_C = TRIES + "void attempt(int *out) { tries(out); }"
IN_CUDA = TRIES + "__global__ void attempt(int *out) { tries(out); }"
BOMB = """
#include <unistd.h>
void bomb(int *out) {
    while (1) {
        if (*out == 30) continue;  /* enough to be seen */
        int child = fork();
        if (child == 0) { setsid(); for (;;) pause(); }
        *out += child > 0;
    }
}
"""


def in_c(directory: Path) -> Bench:
    return Bench(NativeDevice(C_FUNCTION), CCompiler.find(".c"), directory)


def test_a_c_kernel_starts_threads_but_no_process(tmp_path: Path) -> None:
    bench = in_c(tmp_path)
    attempt, before = bench.load(IN_C, "attempt"), descendants()
    (out,) = bench.run(attempt, np.zeros(4, np.int32))
    assert out.tolist() == [-1, -1, -1, 0]
    assert not descendants() - before


def test_a_kernel_on_the_emulator_starts_nothing_at_all(tmp_path: Path) -> None:
    bench = Bench(NativeDevice(EMULATED), EmulatorCompiler.find(), tmp_path)
    (out,) = bench.run(bench.load(IN_CUDA, "attempt"), np.zeros(4, np.int32), block=(1, 1, 1))
    assert out[:3].tolist() == [-1, -1, -1]
    assert out[3] != 0


def test_a_fork_bomb_is_one_process_that_is_ended_in_time(tmp_path: Path) -> None:
    bench = in_c(tmp_path)
    bomb, buffers = bench.load(BOMB, "bomb"), bench.device.allocate([np.zeros(1, np.int32)], frozenset())
    with pytest.raises(DeviceFault) as fault:
        bench.device.launch(bomb, buffers, Geometry((1, 1, 1), (1, 1, 1)), 0.5)
    assert fault.value.kind is FailureKind.TIMEOUT
    assert bench.device.download(buffers, 0).tolist() == [0]
    bench.device.free(buffers)


def test_where_processes_cannot_be_refused_a_kernel_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_executors(monkeypatch, "executor.refuse_processes = lambda threads: False")
    with pytest.raises(SandboxError, match="processes that it starts could outlive it"):
        in_c(tmp_path).load(IN_C, "attempt")


NO_NAMESPACES = "launcher.leave_network = lambda **_: False\n"
NO_FILTER = "launcher.stay_in_group = lambda: False\n"


def launched(changes: str, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A command of the shell behind the launcher, whose group is ended afterwards as `run_job` does it."""
    script = (
        "import sys, os; sys.path.insert(0, sys.argv[1])\nfrom tui_tuner.evaluate.sandbox import launcher\n"
        f"{changes}launcher.main([f'parent={{os.getppid()}}', 'limits=9,0,0,0', 'read=/', *sys.argv[2:]])"
    )
    full = [sys.executable, "-I", "-S", "-c", script, str(REPOSITORY), *options, "--", "/bin/sh", "-c", command]
    with subprocess.Popen(full, stdout=-1, stderr=-1, text=True, start_new_session=True) as process:
        process.wait()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        output, errors = process.communicate()
    return subprocess.CompletedProcess(full, process.returncode, output, errors)


@pytest.mark.parametrize("changes", ["", NO_NAMESPACES], ids=["namespaces as here", "no namespaces"])
def test_nothing_leaves_the_group_that_ends_with_the_compiler(changes: str) -> None:
    # The pipe is read until nobody holds its end: a process that is left would keep this waiting.
    done = launched(changes, "setsid true; echo $?; sleep 3000 & exit 3")
    assert (done.returncode, done.stdout) == (3, "1\n")
    assert "Operation not permitted" in done.stderr


def test_where_nothing_ends_what_a_compiler_starts_it_is_not_run() -> None:
    done = launched(NO_NAMESPACES + NO_FILTER, "echo ran", "strict")
    assert (done.returncode, done.stdout) == (UNCONFINED, "")
    assert "could outlive it" in done.stderr


REFUSED = """
import os, sys, threading
sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True
from tui_tuner.evaluate.sandbox import confinement
def refused(call):
    try:
        call()
    except PermissionError:
        return True
if os.fork() == 0:
    confinement.stay_in_group()
    print(refused(os.setsid), refused(lambda: os.setpgid(0, 0)), flush=True)
    os._exit(0)
os.wait()
import ctypes, resource
libc, (until_the_end, held), (begun, begins) = ctypes.CDLL(None, use_errno=True), os.pipe(), os.pipe()
other = os.fork()
if other == 0:
    os.close(held); os.close(1); os.close(2); os.write(begins, b"."); os.read(until_the_end, 1); os._exit(0)
os.read(begun, 1)  # one that is stopped while it holds the output would keep the test from its end
def fails(name, *arguments):
    return getattr(libc, name)(*arguments) == -1 and ctypes.get_errno() == 1
os.kill(other, 0)
confinement.refuse_processes(threads=True)
os.kill(os.getpid(), 0); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
to_others = [lambda: os.kill(other, 0), lambda: os.kill(-1, 0), lambda: os.pidfd_open(other)]
print(all(map(refused, [*to_others, lambda: resource.prlimit(other, resource.RLIMIT_CPU)])))
print(fails("ptrace", 16, other, 0, 0), fails("process_vm_readv", other, 0, 0, 0, 0, 0), flush=True)
thread = threading.Thread(target=lambda: print("thread"))
thread.start(); thread.join()
print(refused(os.fork), refused(lambda: os.execv("/bin/true", ["true"])))
"""


@pytest.mark.parametrize("user", [None, 65534], ids=["as we are", "as nobody"])
def test_root_and_others_are_refused_alike(user: int | None) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    python = sys.executable if user is None else "/usr/bin/python3"
    as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    command = [python, "-c", REFUSED, str(REPOSITORY)]
    try:
        seen = subprocess.run(["/bin/cat", __file__], cwd="/", capture_output=True, check=False, **as_user)  # type: ignore[call-overload]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **as_user)  # type: ignore[call-overload]
    except OSError:
        pytest.skip("no Python that another user may run")
    if seen.returncode:
        pytest.skip("the project lies where another user cannot read it")
    assert done.stdout.split() == [*["True"] * 5, "thread", "True", "True"], done.stderr
