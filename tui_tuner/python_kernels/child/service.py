"""Serving requests for one kernel: builds run in forks beside, checks and times one after another."""

from __future__ import annotations

import socket
import time
import traceback
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import wait
from pathlib import Path

import torch
from pydantic import TypeAdapter

from tui_tuner.errors import ProblemError, UserError
from tui_tuner.evaluate.results import Comparison, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import Frame, receive
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.toml_file import read_text
from tui_tuner.python_kernels import (
    LAUNCHING,
    DescriptionRequest,
    ForgetRequest,
    KernelComparisonAnswer,
    KernelComparisonRequest,
    KernelDescription,
    KernelEvaluationAnswer,
    KernelEvaluationRequest,
    KernelLaunchesAnswer,
    KernelLaunchesRequest,
    KernelOpenAnswer,
    KernelOpenRequest,
    KernelPhase,
    KernelRequest,
    MachineCodeAnswer,
    MachineCodeRequest,
    NumberedRequest,
    Rewritten,
)
from tui_tuner.python_kernels.child.bench import PythonKernelBench, launched, unreported
from tui_tuner.python_kernels.child.builds import BuildOutcome, RunningBuilds
from tui_tuner.python_kernels.child.data import Data
from tui_tuner.python_kernels.child.kernel import KernelFault, ReadyKernel, failure
from tui_tuner.python_kernels.child.loading import KernelFromFile, check_device, device_info

SendFrame = Callable[[Frame], None]
_SAID_S = 0.2
"""Until a tool has said what it has to say of what was launched before, seconds."""
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
        self._builds = RunningBuilds(opening.jobs, opening.build_limit_s, allow_unconfined=opening.allow_unconfined)
        loaded = self._loaded
        self._bench = PythonKernelBench(loaded.kernel, loaded.arguments, loaded.reference, opening.tolerance, self._now)
        self._new: deque[NumberedRequest] = deque()
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

    @staticmethod
    def launched(request: KernelLaunchesRequest) -> KernelLaunchesAnswer:
        """Build one configuration, as the session's process does, launch it, and mark the last launch for tools."""
        check_device()
        opening, loaded = request.opening, _loaded(request.opening)
        builds = RunningBuilds(1, opening.build_limit_s, allow_unconfined=opening.allow_unconfined)
        try:
            kernel = loaded.kernel.ready(request.configuration, request.rewritten)
            data = Data(loaded.arguments(0))
            data.renew(guarded=request.guarded)
            builds.finish(kernel, data.working)
            torch.cuda.synchronize()
            time.sleep(_SAID_S)
            print(LAUNCHING, flush=True)  # noqa: T201 - whoever started this process reads it
            for number in range(request.launches):
                data.renew(guarded=request.guarded)
                if number == request.launches - 1:
                    torch.cuda.profiler.start()
                launched(kernel, data, unreported)
        except KernelFault as fault:
            return KernelLaunchesAnswer(failure=failure(fault))
        return KernelLaunchesAnswer()

    def opened(self) -> bool:
        """Check and time the default configuration; whether requests can be served."""
        self._now("generating code", CODE_LIMIT_S)
        try:
            default = self._loaded.kernel.ready(self._opening.default, self._opening.rewritten)
            given = self._bench.prepare(default)
        except KernelFault as fault:
            given = KernelEvaluationAnswer(failure=failure(fault), fatal=fault.fatal)
        except UserError:
            raise
        except Exception as error:  # of a framework, or ours; nobody would see it in the log of a run that never began
            traceback.print_exc()
            told = Failure(kind=FailureKind.CRASH, message=f"{type(error).__name__}: {error}".partition("\n")[0])
            given = KernelEvaluationAnswer(failure=told, fatal=True)
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
            elif isinstance(request, NumberedRequest):
                self._new.append(request)
            limit = 0

    def _begin(self, request: NumberedRequest) -> None:
        self._number = request.id
        if isinstance(request, KernelComparisonRequest):
            self._compare(request)
            return
        if isinstance(request, MachineCodeRequest):
            self._say(self._machine_code(request))
            return
        try:
            kernel = self._ready(request.configuration, request.rewritten)
            if kernel.key in self._known:
                self._say(self._known[kernel.key].model_copy(update={"id": request.id}))
            elif kernel.key in self._building:
                self._building[kernel.key].append(request)
            else:
                self._builds.start(kernel, self._bench.arguments(kernel))
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
            old = self._ready(request.incumbent, request.incumbent_rewritten)
            new = self._ready(request.challenger, request.challenger_rewritten)
            comparison, fatal = self._bench.compare(old, new, request.delta)
        except KernelFault as fault:
            comparison, fatal = Comparison.failed(failure(fault)), fault.fatal
        self._say(KernelComparisonAnswer(id=request.id, comparison=comparison, fatal=fatal))

    def _machine_code(self, request: MachineCodeRequest) -> MachineCodeAnswer:
        """Of what was built before; Triton finds it in its cache."""
        try:
            kernel = self._ready(request.configuration, request.rewritten)
            return MachineCodeAnswer(id=request.id, symbol=self._bench.machine_code(kernel, Path(request.artifact)))
        except KernelFault as fault:
            return MachineCodeAnswer(id=request.id, failure=failure(fault))

    def _ready(self, configuration: Configuration, rewritten: Rewritten | None) -> ReadyKernel:
        self._now("generating code", CODE_LIMIT_S)
        return self._loaded.kernel.ready(configuration, rewritten)

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
    return KernelFromFile(file, opening.kernel, _host(opening), opening.tensor_bytes)


def _host(request: DescriptionRequest | KernelOpenRequest) -> Path | None:
    return None if request.host is None else Path(request.host)
