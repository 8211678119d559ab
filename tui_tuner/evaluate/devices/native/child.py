"""Inside the child process that loads and runs what a model wrote: confine itself, load, launch, report."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tui_tuner.evaluate.devices.native.launch import NativeArguments, NativeCall, NativeCode
from tui_tuner.evaluate.devices.native.memory import GuardedSharedArray
from tui_tuner.evaluate.devices.native.report import LaunchStatus, SharedReport
from tui_tuner.evaluate.sandbox.landlock import confine
from tui_tuner.evaluate.sandbox.limits import ResourceLimits, apply_limits
from tui_tuner.evaluate.sandbox.namespace import leave_network
from tui_tuner.problem.geometry import Geometry
from tui_tuner.processes.parent import die_with_parent

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
