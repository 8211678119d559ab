"""One task in a forked child in limited time: confine itself, load, launch, report."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tui_tuner.evaluate.devices.base import DeviceFault, KernelArgument
from tui_tuner.evaluate.devices.native.memory import (
    MESSAGE_BYTES,
    GuardedSharedArray,
    LaunchReport,
    LaunchStatus,
    SharedReport,
)
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.sandbox.confinement import confine, leave_network
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits, apply_limits
from tui_tuner.problem.candidate import Geometry
from tui_tuner.processes.parent import die_with_parent


@dataclass(frozen=True)
class ChildExit:
    """How a child ended.

    Attributes:
        signal: that ended it, 0 where it ended itself.
        timed_out: whether it was killed for taking too long.
        wall_s: from fork to end, seconds.
        cpu_s: processor time by the kernel's own count, seconds.
    """

    report: SharedReport
    signal: int
    timed_out: bool
    wall_s: float
    cpu_s: float


def run_in_child(task: ChildTask) -> ChildExit:
    """Fork, let the child do the task, and reap it and whatever it started.

    The calling process may only have threads that hold no locks across a fork (as those of BLAS).
    """
    report = SharedReport(max(task.runs, 1))
    began = time.monotonic()
    child = _fork(task, report)
    in_time = _wait(child, task.timeout_s)
    with suppress(ProcessLookupError):  # before it is reaped, so that its number cannot be another's
        os.kill(child, signal.SIGKILL)
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    wall_s = time.monotonic() - began
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return ChildExit(report, number, not in_time or number == signal.SIGXCPU, wall_s, usage.ru_utime + usage.ru_stime)


def _fork(task: ChildTask, report: SharedReport) -> int:
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python from 3.12 on warns where NumPy's BLAS has threads; the child makes no use of it.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        run_task(task, report, parent)
    return child


def _wait(child: int, timeout_s: float) -> bool:
    """Whether the child ended in time."""
    descriptor = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)


NativeArguments = Sequence[KernelArgument | GuardedSharedArray]
"""A kernel's arguments, arrays in memory that the child shares."""
NativeCall = Callable[[], int]
"""Launches once and returns a `LaunchStatus`."""
Bind = Callable[[Geometry, LaunchReport], NativeCall]
"""Makes the call at a geometry, which reports there."""


@dataclass(frozen=True)
class NativeCode:
    """A form of native code.

    Attributes:
        kind: of the device that runs it.
        compiler: that builds it.
        name: of the device, where `{cpu}` stands for the processor.
        bind: makes the calls of a loaded kernel from its library, its symbol and its arguments.
        check_scalar: raises `DeviceFault` for a scalar that cannot be passed.
        has_blocks: whether it is a grid of blocks with shared memory.
        has_threads: whether it starts threads of its own. One without is timed by its processor time, which is less
            noisy, the others by wall time.
    """

    kind: str
    compiler: str
    name: str
    bind: Callable[[ctypes.CDLL, str, NativeArguments], Bind]
    check_scalar: Callable[[np.generic], object]
    has_blocks: bool
    has_threads: bool

    @property
    def clock(self) -> Callable[[], int]:
        """Reads the time, ns."""
        return time.perf_counter_ns if self.has_threads else time.thread_time_ns


def scalar(value: np.generic) -> object:
    """A NumPy scalar as an object of ctypes.

    Raises:
        DeviceFault: C has no such type.
    """
    dtype: Any = value.dtype
    try:
        converted: object = np.ctypeslib.as_ctypes_type(dtype)(value.item())
    except NotImplementedError:
        raise DeviceFault(FailureKind.LAUNCH, f"C has no scalar of type {value.dtype}") from None
    return converted


def _emulated(library: ctypes.CDLL, symbol: str, values: NativeArguments) -> Bind:
    function = library[symbol]
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    slots = [_slot(value) for value in values]
    addresses = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))

    def bind(geometry: Geometry, report: LaunchReport) -> NativeCall:
        numbers = (ctypes.c_uint * 7)(*geometry.grid, *geometry.block, geometry.shared_bytes)
        message = ctypes.addressof(report) + LaunchReport.message.offset  # type: ignore[attr-defined]

        def launch() -> int:
            _ = slots  # the addresses are theirs
            return int(function(numbers, addresses, message, MESSAGE_BYTES))

        return launch

    return bind


def _slot(value: KernelArgument | GuardedSharedArray) -> ctypes.Array[ctypes.c_char]:
    """The bytes of an argument, with room for any scalar type."""
    if isinstance(value, GuardedSharedArray):
        return ctypes.create_string_buffer(value.start.to_bytes(8, "little"), 16)
    return ctypes.create_string_buffer(value.tobytes(), 16)


def _called(library: ctypes.CDLL, symbol: str, values: NativeArguments) -> Bind:
    address = ctypes.c_void_p.in_dll(library, symbol).value
    arguments = [ctypes.c_void_p(v.start) if isinstance(v, GuardedSharedArray) else scalar(v) for v in values]  # type: ignore[arg-type]
    function = ctypes.CFUNCTYPE(None, *map(type, arguments))(address)  # type: ignore[arg-type]

    def launch() -> int:
        function(*arguments)
        return 0

    return lambda _geometry, _report: launch


EMULATED = NativeCode(
    kind="emulator",
    compiler="g++",
    name="CPU emulator on {cpu}",
    bind=_emulated,
    check_scalar=lambda _value: None,
    has_blocks=True,
    has_threads=False,
)
"""CUDA kernels compiled for the emulator."""
C_FUNCTION = NativeCode(
    kind="c", compiler="gcc", name="{cpu}", bind=_called, check_scalar=scalar, has_blocks=False, has_threads=True
)
"""Functions of C and C++, as a rule with OpenMP."""


_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")
_ADDRESS_SPACE = 16 << 30
"""Beyond what is mapped already: the stacks of a block, or of OpenMP's threads."""
_DESCRIPTORS = 64


@dataclass(frozen=True)
class ChildTask:
    """What a child does.

    Attributes:
        code: the form of the artifact.
        values: the kernel's arguments, arrays in shared memory.
        restored: shared array and the address of its pristine copy.
        geometry: None to load the kernel only.
        runs: how many launches.
        libraries: directories of the compiler's own libraries.
        strict: whether the kernel must not run unless the child can be confined.
    """

    code: NativeCode
    artifact: Path
    symbol: str
    values: NativeArguments
    restored: Sequence[tuple[GuardedSharedArray, int]]
    geometry: Geometry | None
    runs: int
    timeout_s: float
    libraries: Sequence[Path]
    strict: bool


def run_task(task: ChildTask, report: SharedReport, parent: int) -> NoReturn:
    """Do the task and end this process without a word to the parent's own exit handlers."""
    try:
        _isolate(task, report, parent)
        _load_and_run(task, report)
    except Exception as error:
        report.say(LaunchStatus.FAULTY, f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


def _isolate(task: ChildTask, report: SharedReport, parent: int) -> None:
    die_with_parent(parent)
    os.setsid()
    faulthandler.disable()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _close_descriptors()
    namespace = leave_network()
    _limit(task)
    try:
        confinement = confine(read=[task.artifact, *task.libraries, *_LIBRARIES], write=["/dev/null"])
    except OSError as error:
        _leave(report, LaunchStatus.UNCONFINED, str(error))
    if task.strict and not confinement.abi:
        _leave(report, LaunchStatus.UNCONFINED, "the operating system has no Landlock")
    if task.strict and not (namespace or confinement.tcp_refused):
        _leave(report, LaunchStatus.UNCONFINED, "the network stays within reach")


def _close_descriptors() -> None:
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _limit(task: ChildTask) -> None:
    present = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    cores = len(os.sched_getaffinity(0)) if task.code.has_threads else 1
    apply_limits(ResourceLimits(int((task.timeout_s + 1) * cores) + 1, present + _ADDRESS_SPACE, 0, _DESCRIPTORS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if not task.code.has_threads:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _load_and_run(task: ChildTask, report: SharedReport) -> None:
    try:
        library = ctypes.CDLL(os.fspath(task.artifact))
        bind = task.code.bind(library, task.symbol, task.values)
    except (OSError, AttributeError, ValueError) as error:
        _leave(report, LaunchStatus.UNLOADABLE, str(error))
    library.tuner_watch(ctypes.byref(report.page.fault))
    if task.geometry is None:
        report.page.shared_bytes = library.tuner_static_shared() if task.code.has_blocks else 0
    else:
        _run(task, report, bind(task.geometry, report.page))
    report.page.status = LaunchStatus.DONE


def _run(task: ChildTask, report: SharedReport, call: NativeCall) -> None:
    clock = task.code.clock
    for index in range(task.runs):
        for array, pristine in task.restored:
            ctypes.memmove(array.start, pristine, array.nbytes)
        began = clock()
        status = call()
        report.nanoseconds[index] = clock() - began
        if status:
            report.page.status = status
            os._exit(0)


def _leave(report: SharedReport, status: LaunchStatus, message: str) -> NoReturn:
    report.say(status, message)
    os._exit(0)
