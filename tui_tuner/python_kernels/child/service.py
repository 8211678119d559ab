"""Serving requests for one kernel: builds run in forks beside, checks and times one after another.

As Helion does it: the fork inherits all that is loaded, compiles into Triton's cache on the disk and ends, and the
process that holds the device then finds the kernel there.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

import torch
from pydantic import TypeAdapter
from triton.runtime import driver

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import Comparison, FailureKind
from tui_tuner.evaluate.runner.protocol import Frame, receive
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.toml_file import read_text
from tui_tuner.processes import end_in_words
from tui_tuner.processes.parent import die_with_parent
from tui_tuner.python_kernels import (
    DescriptionRequest,
    ForgetRequest,
    KernelComparisonAnswer,
    KernelComparisonRequest,
    KernelDescription,
    KernelEvaluationAnswer,
    KernelEvaluationRequest,
    KernelOpenAnswer,
    KernelOpenRequest,
    KernelPhase,
    KernelRequest,
)
from tui_tuner.python_kernels.child.bench import PythonKernelBench
from tui_tuner.python_kernels.child.kernel import Arguments, JitLaunch, KernelFault, ReadyKernel, compile_fault, failure
from tui_tuner.python_kernels.child.loading import KernelFromFile, check_device, device_info

SendFrame = Callable[[Frame], None]
CODE_LIMIT_S = 120.0
"""Time limit of generating the code of one configuration."""


class KernelService:
    """One kernel, its builds and its bench."""

    def __init__(self, requests: socket.socket, opening: KernelOpenRequest, say: SendFrame) -> None:
        self._channel = requests
        self._say = say
        self._frames: TypeAdapter[KernelRequest] = TypeAdapter(KernelRequest)
        self._loaded = _loaded(opening)
        self._opening = opening
        self._builds = RunningBuilds(opening.jobs, opening.build_limit_s)
        self._bench = PythonKernelBench(self._loaded.arguments, self._loaded.reference, opening.tolerance, self._now)
        self._new: deque[KernelEvaluationRequest | KernelComparisonRequest] = deque()
        self._building: dict[str, list[KernelEvaluationRequest]] = {}
        self._built: deque[BuildOutcome] = deque()
        self._known: dict[str, KernelEvaluationAnswer] = {}
        self._number: int | None = None

    @staticmethod
    def described(request: DescriptionRequest) -> KernelDescription:
        """The search space of a file's kernel."""
        check_device()
        return KernelFromFile(Path(request.file), request.kernel, _host(request)).description

    @staticmethod
    def serve_kernel(requests: socket.socket, opening: KernelOpenRequest, say: SendFrame) -> None:
        """Open a kernel and serve until the other side closes or the device is lost."""
        check_device()
        service = KernelService(requests, opening, say)
        if service.opened():
            service.run()

    def opened(self) -> bool:
        """Check and time the default configuration; whether requests can be served."""
        self._now("generating code", CODE_LIMIT_S)
        try:
            default = self._loaded.kernel.ready(self._opening.default)
            given = self._bench.prepare(default)
        except KernelFault as fault:
            given = KernelEvaluationAnswer(failure=failure(fault), fatal=fault.fatal)
        else:
            self._known[default.key] = given
        self._say(KernelOpenAnswer(device=device_info(self._loaded.kernel.framework), given=given))
        return given.failure is None

    def run(self) -> None:
        """Serve until the device is lost.

        Raises:
            ChannelClosed: the other side closed.
        """
        while True:
            self._take_requests()
            self._built += self._builds.ended()
            if self._new and self._builds.has_room:
                self._begin(self._new.popleft())
            if self._built and self._finish(self._built.popleft()):
                return

    def _take_requests(self) -> None:
        """Read what has come; wait for something if there is nothing to do."""
        busy = self._built or (self._new and self._builds.has_room)
        if not busy and self._building:
            self._number = None
            self._now("compiling", self._opening.build_limit_s + 30)
        limit = 0 if busy else self._builds.left_s
        while self._channel in wait([self._channel, *self._builds.ends], limit):
            request = self._frames.validate_python(receive(self._channel))
            if isinstance(request, ForgetRequest):
                self._forget(request.id)
            elif isinstance(request, KernelEvaluationRequest | KernelComparisonRequest):
                self._new.append(request)
            limit = 0

    def _begin(self, request: KernelEvaluationRequest | KernelComparisonRequest) -> None:
        self._number = request.id
        if isinstance(request, KernelComparisonRequest):
            self._compare(request)
            return
        try:
            kernel = self._ready(request.configuration)
            if kernel.key in self._known:
                self._say(self._known[kernel.key].model_copy(update={"id": request.id}))
            elif kernel.key in self._building:
                self._building[kernel.key].append(request)
            else:
                self._builds.start(kernel, self._bench.arguments)
                self._building[kernel.key] = [request]
        except KernelFault as fault:
            self._say(KernelEvaluationAnswer(id=request.id, failure=failure(fault)))

    def _finish(self, built: BuildOutcome) -> bool:
        """Check and time what was built; whether the device is lost."""
        requests = self._building.pop(built.kernel.key, [])
        if not requests:
            return False
        if built.fault is not None:
            outcome = KernelEvaluationAnswer(failure=failure(built.fault))
        else:
            self._number = requests[0].id
            outcome = self._bench.evaluate(built.kernel, requests[0].best_ms)
        outcome = outcome.model_copy(update={"build_ms": built.milliseconds})
        self._known[built.kernel.key] = outcome
        for request in requests:
            self._say(outcome.model_copy(update={"id": request.id}))
        return outcome.fatal

    def _compare(self, request: KernelComparisonRequest) -> None:
        try:
            old, new = self._ready(request.incumbent), self._ready(request.challenger)
            comparison, fatal = self._bench.compare(old, new, request.delta)
        except KernelFault as fault:
            comparison, fatal = Comparison.failed(failure(fault)), fault.fatal
        self._say(KernelComparisonAnswer(id=request.id, comparison=comparison, fatal=fatal))

    def _ready(self, configuration: Configuration) -> ReadyKernel:
        self._now("generating code", CODE_LIMIT_S)
        return self._loaded.kernel.ready(configuration)

    def _forget(self, number: int) -> None:
        self._new = deque(request for request in self._new if request.id != number)
        for requests in self._building.values():
            requests[:] = [request for request in requests if request.id != number]

    def _now(self, text: str, limit_s: float) -> None:
        self._say(KernelPhase(id=self._number, text=text, limit_s=limit_s))


def _loaded(opening: KernelOpenRequest) -> KernelFromFile:
    file = Path(opening.file)
    if read_text(file) != opening.source:
        hint = "bring back the text that the run began with, or begin a new run"
        raise ProblemError("the kernel's file has changed since the run began", hint=hint, file=file)
    return KernelFromFile(file, opening.kernel, _host(opening))


def _host(request: DescriptionRequest | KernelOpenRequest) -> Path | None:
    return None if request.host is None else Path(request.host)


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
    """

    def __init__(self, jobs: int, limit_s: float) -> None:
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

    def start(self, kernel: ReadyKernel, arguments: Arguments) -> None:
        """Begin to compile what the kernel launches.

        Raises:
            KernelFault: its host code fails before it launches anything.
        """
        device = torch.cuda.current_device()
        try:
            launches = kernel.jit_launches(arguments)
            for launch in launches:
                launch.function.device_caches[device]  # made here: making it asks the device
        except Exception as error:
            raise compile_fault(error, "") from None
        context = get_context("fork")
        result, told = context.Pipe(duplex=False)
        process = context.Process(target=_compile, args=(launches, device, told), daemon=True)
        process.start()
        told.close()
        self._running.append(_Running(kernel, process, result, time.perf_counter()))

    def ended(self) -> list[BuildOutcome]:
        """The builds that ended since the last call, those that took too long among them."""
        over = [r for r in self._running if r.age > self._limit_s or r.result.poll() or not r.process.is_alive()]
        self._running = [running for running in self._running if running not in over]
        return [_outcome(running, self._limit_s) for running in over]


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


def _compile(launches: Sequence[JitLaunch], device: int, told: Connection) -> None:
    """In the fork: compile and tell None, or the exception's name, its text and what was printed."""
    die_with_parent()
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        driver.active.get_current_device = lambda: device  # a fork must not ask CUDA
        driver.active.get_current_stream = lambda _device: 0
        try:
            for launch in launches:
                launch.function.run(*launch.arguments, grid=None, warmup=True, **launch.options)
            told.send(None)
        except BaseException as error:  # Triton's own errors, and what a compiler raises
            sys.stdout.flush()
            sys.stderr.flush()
            log.seek(0)
            told.send((type(error).__name__, str(error), log.read().decode(errors="replace")[-4000:]))
        finally:
            told.close()
            os._exit(0)
