"""One task in a forked child in limited time: confine itself, load, launch, and pause to be looked at."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import mmap
import os
import resource
import select
import signal
import socket
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tui_tuner.evaluate.devices.native.code import Bind, NativeCode, NativeLaunch, constants_in
from tui_tuner.evaluate.devices.native.memory import LaunchStatus, SharedReport
from tui_tuner.evaluate.sandbox.confinement import confine, leave_network
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits, apply_limits
from tui_tuner.evaluate.sandbox.system_calls import refuse_processes
from tui_tuner.processes.parent import die_with_parent


@dataclass(frozen=True)
class ChildExit:
    """How a child ended.

    Attributes:
        signal: that ended it, 0 where it ended itself.
        timed_out: whether it was killed for taking too long.
    """

    report: SharedReport
    signal: int
    timed_out: bool


class NativeChild:
    """A child at its task. It pauses before every launch, and what it starts ends with it.

    The calling process may only have threads that hold no locks across a fork (as those of BLAS).

    Attributes:
        cpu_s: processor time that went by between the pauses, by the operating system's count, seconds a launch.
    """

    def __init__(self, task: ChildTask) -> None:
        self.report = SharedReport(max(len(task.launches), 1))
        self.cpu_s: list[float] = []
        self._steps = 1 + len(task.launches)
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._pid = _fork(task, self.report, theirs)
        self._descriptor = os.pidfd_open(self._pid)
        self._timed_out = False
        self._exit: ChildExit | None = None

    @property
    def steps_left(self) -> int:
        """Steps that are still to do: the first loads, each of the others launches."""
        return self._steps - len(self.cpu_s)

    def step(self, timeout_s: float) -> bool:
        """Let it do what comes next; whether it pauses after that in time. If not, it is at its end."""
        began = self._cpu_s()
        with suppress(OSError):
            self._channel.send(_GO)
        paused = self._waits(timeout_s)
        self.cpu_s.append(self._cpu_s() - began)
        return paused

    def _waits(self, timeout_s: float) -> bool:
        end = time.monotonic() + timeout_s
        self._timed_out = not select.select([self._descriptor, self._channel.fileno()], [], [], timeout_s)[0]
        with suppress(OSError):
            if self._timed_out or self._channel.recv(1, socket.MSG_DONTWAIT) == _DONE:
                return not self._timed_out
        left_s = max(0.0, end - time.monotonic())  # it closed its end of the channel, as when it ends
        self._timed_out = not select.select([self._descriptor], [], [], left_s)[0]
        return False

    def _cpu_s(self) -> float:
        with suppress(OSError):
            return time.clock_gettime(~self._pid << 3 | _CPU_CLOCK)
        return 0.0

    def hold(self) -> None:
        """Stop it, and wait until all of its threads stand still: they take no time from what runs meanwhile."""
        self._signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def release(self) -> None:
        """Let it go on after `hold`; it pauses as before."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._exit is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def end(self) -> ChildExit:
        """End it and whatever it started, and reap it; how it ended, by itself or otherwise."""
        if self._exit is None:
            self._channel.close()
            with suppress(ProcessLookupError):  # before it is reaped, so that its number cannot be another's
                os.kill(self._pid, signal.SIGKILL)
                os.killpg(self._pid, signal.SIGKILL)
            _, status = os.waitpid(self._pid, 0)
            os.close(self._descriptor)
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            self._exit = ChildExit(self.report, number, self._timed_out or number == signal.SIGXCPU)
        return self._exit


class HeldChildren:
    """Children that are kept between the launches of one kernel that are timed, which spares each turn a fork.

    Between two turns a child is stopped: what it does may take no time from another's turn.
    """

    def __init__(self) -> None:
        self._children: dict[Hashable, NativeChild] = {}

    @contextmanager
    def turn(self, key: Hashable, steps: int, start: Callable[[int], NativeChild]) -> Iterator[NativeChild]:
        """A child for so many steps, a new one where none is kept that has them left.

        Args:
            start: makes a child for so many launches.
        """
        child = self._children.pop(key, None)
        if child is not None and child.steps_left < steps:
            child.end()
            child = None
        if child is None:
            child = start(max(steps, _MOST_LAUNCHES))
        else:
            child.release()
        try:
            yield child
            child.hold()
        except BaseException:
            child.end()
            raise
        self._children[key] = child

    def end(self, concerns: Callable[[Any], bool]) -> None:
        """End those whose key it says that they are concerned."""
        for key in [key for key in self._children if concerns(key)]:
            self._children.pop(key).end()


_MOST_LAUNCHES = 512
"""That one child is timed for."""
_GO, _DONE = b"g", b"d"
_CPU_CLOCK = 2
"""A process's number, inverted, with this in the last three bits names the clock of its processor time."""


def _fork(task: ChildTask, report: SharedReport, channel: socket.socket) -> int:
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python from 3.12 on warns where NumPy's BLAS has threads; the child makes no use of it.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        run_task(task, report, channel, parent)
    return child


_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")
_ADDRESS_SPACE = 16 << 30
"""Beyond what is mapped already: the stacks of a block, or of OpenMP's threads."""
_DESCRIPTORS = 64


@dataclass(frozen=True)
class ChildTask:
    """What a child does.

    Attributes:
        code: the form of the artifact.
        launches: one after the other, in one load of the artifact; none to load it only.
        timeout_s: of each of them.
        libraries: directories of the compiler's own libraries.
        strict: whether the kernel must not run unless the child can be confined.
    """

    code: NativeCode
    artifact: Path
    symbol: str
    launches: Sequence[NativeLaunch]
    timeout_s: float
    libraries: Sequence[Path]
    strict: bool


def run_task(task: ChildTask, report: SharedReport, channel: socket.socket, parent: int) -> NoReturn:
    """Do the task and end this process without a word to the parent's own exit handlers."""
    gc.disable()  # looking through what the parent left would copy all of its memory
    try:
        _isolate(task, report, parent, channel)
        _load_and_run(task, report, socket.socket(fileno=_CHANNEL))
    except Exception as error:
        report.say(LaunchStatus.FAULTY, f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


_CHANNEL = 3


def _isolate(task: ChildTask, report: SharedReport, parent: int, channel: socket.socket) -> None:
    die_with_parent(parent)
    os.setsid()
    faulthandler.disable()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _close_descriptors(channel)
    namespace = leave_network()
    _limit(task)
    try:
        confinement = confine(read=[task.artifact, *task.libraries, *_LIBRARIES], write=["/dev/null"])
    except OSError as error:
        _leave(report, LaunchStatus.UNCONFINED, str(error))
    alone = refuse_processes(threads=task.code.has_threads)
    if task.strict and not confinement.abi:
        _leave(report, LaunchStatus.UNCONFINED, "the operating system has no Landlock")
    if task.strict and not (namespace or confinement.tcp_refused):
        _leave(report, LaunchStatus.UNCONFINED, "the network stays within reach")
    if task.strict and not alone:
        _leave(report, LaunchStatus.UNCONFINED, "processes that it starts could outlive it")


def _close_descriptors(channel: socket.socket) -> None:
    os.dup2(channel.detach(), _CHANNEL)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.closerange(_CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))


def _limit(task: ChildTask) -> None:
    present = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    cores = len(os.sched_getaffinity(0)) if task.code.has_threads else 1
    cpu_s = (task.timeout_s + 1) * max(1, len(task.launches)) * cores
    apply_limits(ResourceLimits(int(cpu_s) + 1, present + _ADDRESS_SPACE, 0, _DESCRIPTORS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if not task.code.has_threads:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _load_and_run(task: ChildTask, report: SharedReport, channel: socket.socket) -> None:
    _pause(channel)
    try:
        library = ctypes.CDLL(os.fspath(task.artifact))
        bind = task.code.bind(library, task.symbol)
    except (OSError, AttributeError, ValueError) as error:
        _leave(report, LaunchStatus.UNLOADABLE, str(error))
    library.tuner_watch(ctypes.byref(report.page.fault))
    if task.launches:
        _run(task, report, library, bind, channel)
    else:
        report.page.shared_bytes = library.tuner_static_shared() if task.code.has_blocks else 0
    report.page.status = LaunchStatus.DONE


def _run(task: ChildTask, report: SharedReport, library: ctypes.CDLL, bind: Bind, channel: socket.socket) -> None:
    clock = task.code.clock
    once = {id(one): one for one in task.launches}
    try:
        constants = {number: list(constants_in(library, launch)) for number, launch in once.items()}
    except AttributeError as error:
        _leave(report, LaunchStatus.UNLOADABLE, str(error))
    calls = {number: bind(launch, report.page) for number, launch in once.items()}
    for index, launch in enumerate(task.launches):
        channel.send(_DONE)
        _pause(channel)
        for array, pristine in launch.restored:
            ctypes.memmove(array.start, pristine, array.nbytes)
        for address, content, nbytes in constants[id(launch)]:
            ctypes.memmove(address, content, nbytes)
        call = calls[id(launch)]
        began = clock()
        status = call()
        report.nanoseconds[index] = clock() - began
        if status:
            report.page.status = status
            os._exit(0)
    report.page.status = LaunchStatus.DONE
    channel.send(_DONE)
    _pause(channel)


def _pause(channel: socket.socket) -> None:
    """Wait until the parent wants more, and end where it does not."""
    if channel.recv(1) != _GO:
        os._exit(0)


def _leave(report: SharedReport, status: LaunchStatus, message: str) -> NoReturn:
    report.say(status, message)
    os._exit(0)
