"""Builds of configurations in forks beside the process that holds the device.

As Helion does it: the fork inherits all that is loaded, compiles into Triton's cache on the disk and ends, and the
process that holds the device then finds the kernel there. A fork that compiles what a model wrote is confined first.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

import torch
import triton
from triton import knobs
from triton.runtime import driver

from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.sandbox.confinement import abi_version, confine, leave_network
from tui_tuner.evaluate.sandbox.process import python_places
from tui_tuner.processes import end_in_words
from tui_tuner.processes.parent import die_with_parent
from tui_tuner.python_kernels.child.kernel import Arguments, JitLaunch, KernelFault, ReadyKernel, compile_fault


@dataclass(frozen=True)
class BuildOutcome:
    """A build that ended; `fault` where it failed."""

    kernel: ReadyKernel
    fault: KernelFault | None
    milliseconds: float


@dataclass(frozen=True)
class _Running:
    kernel: ReadyKernel
    process: ForkProcess
    result: Connection
    started: float

    @property
    def age(self) -> float:
        return time.perf_counter() - self.started


class RunningBuilds:
    """The builds that are under way.

    Args:
        jobs: at once.
        limit_s: of one.
        allow_unconfined: whether what a model wrote is compiled where nothing can confine that.
    """

    def __init__(self, jobs: int, limit_s: float, *, allow_unconfined: bool = False) -> None:
        self._allow_unconfined = allow_unconfined
        self._jobs = jobs
        self._limit_s = limit_s
        self._running: list[_Running] = []

    @property
    def has_room(self) -> bool:
        """Whether another may start."""
        return len(self._running) < self._jobs

    @property
    def ends(self) -> Sequence[Connection]:
        """Become readable when a build ends."""
        return [running.result for running in self._running]

    @property
    def left_s(self) -> float | None:
        """Time until the next limit is reached; None without a build."""
        return min((max(0.0, self._limit_s - running.age) for running in self._running), default=None)

    def start(self, kernel: ReadyKernel, arguments: Sequence[Arguments]) -> None:
        """Begin to compile what the kernel launches with each of some arguments.

        Raises:
            KernelFault: its host code fails before it launches anything.
        """
        device = torch.cuda.current_device()
        try:
            launches = [launch for each in arguments for launch in kernel.jit_launches(each)]
            for launch in launches:
                launch.function.device_caches[device]  # made here: making it asks the device
        except Exception as error:
            raise compile_fault(error, "") from None
        context = get_context("fork")
        result, told = context.Pipe(duplex=False)
        confined = kernel.is_rewritten and (abi_version() > 0 or not self._allow_unconfined)
        process = context.Process(target=_compile, args=(launches, device, told, confined), daemon=True)
        process.start()
        told.close()
        self._running.append(_Running(kernel, process, result, time.perf_counter()))

    def ended(self) -> list[BuildOutcome]:
        """The builds that ended since the last call, those that took too long among them."""
        over = [r for r in self._running if r.age > self._limit_s or r.result.poll() or not r.process.is_alive()]
        self._running = [running for running in self._running if running not in over]
        return [_outcome(running, self._limit_s) for running in over]

    def finish(self, kernel: ReadyKernel, arguments: Arguments) -> None:
        """Compile one kernel and wait for that.

        Raises:
            KernelFault: it cannot be compiled.
        """
        self.start(kernel, [arguments])
        while not (outcomes := self.ended()):
            wait(self.ends, self.left_s)
        for fault in (outcome.fault for outcome in outcomes if outcome.fault is not None):
            raise fault


def _outcome(running: _Running, limit_s: float) -> BuildOutcome:
    said: tuple[str, str, str] | None
    try:
        said = running.result.recv() if running.result.poll() else ("Crash", _ending(running), "")
    except EOFError:
        said = ("Crash", _ending(running), "")
    milliseconds = running.age * 1000
    late = running.age > limit_s and said is not None and said[0] == "Crash"
    _kill(running)
    if late:
        fault = KernelFault(FailureKind.BUILD_TIMEOUT, f"the compiler was not done after {limit_s:.0f} s")
        return BuildOutcome(running.kernel, fault, milliseconds)
    if said is None:
        return BuildOutcome(running.kernel, None, milliseconds)
    name, text, log = said
    error = type(name, (Exception,), {})(text)
    return BuildOutcome(running.kernel, compile_fault(error, log), milliseconds)


def _ending(running: _Running) -> str:
    running.process.join(0.2)
    return f"error: the compiler's process ended ({end_in_words(running.process.exitcode)})"


def _kill(running: _Running) -> None:
    if running.process.is_alive() and running.process.pid is not None:
        with suppress(ProcessLookupError):
            os.kill(running.process.pid, signal.SIGKILL)
    running.process.join()
    running.result.close()


def _compile(launches: Sequence[JitLaunch], device: int, told: Connection, confined: bool) -> None:
    """In the fork: compile and tell None, or the exception's name, its text and what was printed."""
    die_with_parent()
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        driver.active.get_current_device = lambda: device  # a fork must not ask CUDA
        driver.active.get_current_stream = lambda _device: 0
        try:
            if confined:
                _confine()
            for launch in launches:
                launch.compiled()
            told.send(None)
        except BaseException as error:  # Triton's own errors, and what a compiler raises
            sys.stdout.flush()
            sys.stderr.flush()
            log.seek(0)
            told.send((type(error).__name__, str(error), log.read().decode(errors="replace")[-4000:]))
        finally:
            told.close()
            os._exit(0)


_READ = ("/usr", "/bin", "/lib", "/lib64", "/etc", "/opt", "/proc", "/sys", "/dev")


def _confine() -> None:
    """In the fork: give up all files but those of the system, of Python and of Triton, and the network."""
    cache, packages = Path(knobs.cache.dir), (Path(module.__file__ or "").parents[1] for module in (triton, torch))
    cache.mkdir(parents=True, exist_ok=True)
    leave_network()
    if not abi_version():
        raise OSError("error: what a model writes is not compiled here: there is no Landlock to confine it")
    confine(read=[*_READ, *python_places(), *packages], write=[cache, tempfile.gettempdir(), "/dev/null"])
