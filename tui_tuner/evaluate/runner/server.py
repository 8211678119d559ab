"""The runner process: it alone holds the device, and it can be killed.

Forked, see `tui_tuner.evaluate.runner`, or started as `python -m tui_tuner.evaluate.runner.server FD`; speaks frames of
`tui_tuner.evaluate.runner.protocol` over a socket until that is closed. Its standard output and error are the device
libraries' own.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from pydantic import TypeAdapter

from tui_tuner.errors import DeviceLost, MachineError, UserError, machine_faults
from tui_tuner.evaluate.devices.base import CannotWatch, Device, WatchedLaunch
from tui_tuner.evaluate.devices.choose import device_named, open_device, spelled
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.evaluate.runner import AHEAD
from tui_tuner.evaluate.runner.device_lock import DeviceLock
from tui_tuner.evaluate.runner.protocol import (
    CeilingsRequest,
    ChannelClosed,
    ChecksRequest,
    ComparisonRequest,
    DeviceAnswer,
    EvaluationAnswer,
    EvaluationRequest,
    Executable,
    Frame,
    OpenRequest,
    Phase,
    PreparationRequest,
    ProfileAnswer,
    ProfileRequest,
    RehearsalRequest,
    RunnerRequest,
    SanitizeAnswer,
    SanitizeRequest,
    ToolFinding,
    UserErrorAnswer,
    receive,
    send,
)
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.evaluate.toolkit import ORDERCHECK
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.evaluate.verify.drafts import BESIDE, Drafts
from tui_tuner.problem.blocks import keep_threads
from tui_tuner.problem.inputs import make_arguments
from tui_tuner.problem.placement import placement_of
from tui_tuner.processes import fork_server
from tui_tuner.processes.parent import die_with_parent

OPEN_LIMIT_S = 120.0
CEILING_LIMIT_S = 60.0
PROFILE_LIMIT_S = 120.0
"""A profiler runs each launch several times, and saves the arrays before."""
SANITIZE_LIMIT_S = 60.0
"""Time limit of all launches under one tool, in which a kernel is many times slower."""
HEARTBEAT_S = 10.0
"""How often a runner that waits for its device says so."""
_MOST_FILES = 1 << 16
REST_S = 0.2
"""After so long without a request there is time for what is only needed later."""
PATIENT_S = 2.0
"""A wait that is shorter is not worth telling."""


class Runner:
    """Serves requests one after another."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._device: Device | None = None
        self._workbench: Workbench | None = None
        self._drafts: Drafts | None = None
        self._lock: DeviceLock | None = None
        self._heard_at = 0.0
        self._waited_for: set[str] = set()
        self._tools: list[str] = []

    def serve(self) -> None:
        """Answer until the other side closes, or until the device's context is lost."""
        adapter: TypeAdapter[RunnerRequest] = TypeAdapter(RunnerRequest)
        while True:
            self._use_rest()
            try:
                request = adapter.validate_python(receive(self._connection))
            except ChannelClosed:
                return
            answer = self._answer(request)
            send(self._connection, answer.model_dump(mode="json"))
            if getattr(answer, "fatal", False):
                return

    def _use_rest(self) -> None:
        """While nothing is asked, start the tools that kernels are watched with, one after another."""
        while self._device is not None and not _has_input(self._connection, REST_S):
            if not self._device.start_watcher(self._tools):
                return

    def _answer(self, request: RunnerRequest) -> Frame:
        try:
            with machine_faults(), self._alone(request):
                return self._serve_one(request)
        except UserError as error:
            return UserErrorAnswer(
                message=error.message,
                hint=error.hint,
                file=None if error.file is None else str(error.file),
                line=error.line,
                machine=isinstance(error, MachineError),
                fatal=isinstance(error, DeviceLost),
            )
        except DeviceFault as fault:
            return EvaluationAnswer(failure=Failure(kind=fault.kind, message=fault.message), fatal=fault.fatal)

    @contextmanager
    def _alone(self, request: RunnerRequest) -> Iterator[None]:
        """Keep other runs off the device while it works for this one; taking it disturbs nobody."""
        if self._lock is None or isinstance(request, OpenRequest):
            yield
            return
        start = time.monotonic()

        def wait(holder: str) -> None:
            notice = holder not in self._waited_for and time.monotonic() - start > PATIENT_S
            if notice:
                self._waited_for.add(holder)
            if notice or self._heard_at < time.monotonic() - HEARTBEAT_S:
                run = f"run {holder}" if holder else "another run"
                text = f"waits for {run}, which works on the same device; who leaves can resume later"
                self._say(text, OPEN_LIMIT_S, notice=notice)

        with self._lock.held(wait):
            yield

    def _serve_one(self, request: RunnerRequest) -> Frame:
        match request:
            case OpenRequest():
                return self._open(request)
            case ChecksRequest():
                self._opened.use_checks(Path(request.artifact))
                return DeviceAnswer(device=self._opened.info)
            case CeilingsRequest():
                return self._measure_ceilings(request)
            case RehearsalRequest():
                workbench = Workbench(self._opened, request.problem, self._say)
                return workbench.rehearse(request.baseline, is_timed=request.is_timed)
            case PreparationRequest():
                self._workbench = self._workbench_for(request)
                return self._workbench.prepare(request.baseline)
            case EvaluationRequest():
                return self._bench.evaluate(request.executable, request.best_ms)
            case ProfileRequest() | SanitizeRequest():
                return self._launch_only(request) if isinstance(request, ProfileRequest) else self._sanitize(request)
            case ComparisonRequest():
                return self._bench.compare(
                    request.incumbent, request.challenger, request.delta, thorough=request.thorough
                )

    def _workbench_for(self, request: PreparationRequest) -> Workbench:
        drafts, self._drafts = self._drafts, None
        if drafts is not None and drafts.problem != request.problem:
            drafts = None
        return Workbench(self._opened, request.problem, self._say, draws=request.draws, drafts=drafts)

    def _sanitize(self, request: SanitizeRequest) -> SanitizeAnswer:
        """Launch at the tests, the smallest first, as far as there is time; under several tools at once."""
        self._say(f"{', '.join(request.tools)} on small inputs", SANITIZE_LIMIT_S + OPEN_LIMIT_S)
        run, launches, fatal = request.executable, self._watched_launches(request.executable), False

        def look(tool: str) -> ToolFinding:
            nonlocal fatal
            if tool == ORDERCHECK:
                finding, broke = self._bench.verify_late(run)
                fatal = fatal or broke
                return finding
            try:
                self._opened.launch_watched(tool, Path(run.artifact), run.symbol, launches, SANITIZE_LIMIT_S)
            except CannotWatch as reason:
                return ToolFinding(unknown=str(reason))
            except DeviceFault as fault:
                fatal = fatal or fault.fatal
                return ToolFinding(failure=Failure(kind=fault.kind, message=f"{tool}: {fault.message}"))
            return ToolFinding()

        if len(request.tools) == 1:
            findings = [look(request.tools[0])]  # in this process, perhaps: its signals reach only this thread
        else:
            with ThreadPoolExecutor(len(request.tools)) as pool:
                findings = list(pool.map(look, request.tools))
        return SanitizeAnswer(findings=dict(zip(request.tools, findings, strict=True)), fatal=fatal)

    def _watched_launches(self, executable: Executable) -> list[WatchedLaunch]:
        """A launch at each test, the smallest first."""

        def launch(data: LaunchData) -> WatchedLaunch:
            shape = executable.shapes[data.index]
            outputs = frozenset(data.expected)
            return WatchedLaunch(
                data.label, data.arguments, outputs, shape.geometry, self._bench.poisoned, self._opened.placement
            )

        launches = map(launch, self._bench.small_data)
        return sorted(launches, key=lambda one: sum(argument.nbytes for argument in one.arguments))

    @property
    def _bench(self) -> Workbench:
        if self._workbench is None:
            raise DeviceFault(FailureKind.CRASH, "the runner knows no kernel yet", fatal=True)
        return self._workbench

    @property
    def _opened(self) -> Device:
        if self._device is None:
            raise DeviceFault(FailureKind.CRASH, "the runner has no device yet", fatal=True)
        return self._device

    def _open(self, request: OpenRequest) -> DeviceAnswer:
        self._say("opening the device", OPEN_LIMIT_S)
        choice = device_named(request.device)
        self._device = open_device(choice, allow_unconfined=request.allow_unconfined)
        self._tools = request.tools
        if self._device.unit and not self._device.info.is_cpu:
            self._lock = DeviceLock(self._device.unit, request.run)
        if not self._device.info.is_cpu:
            keep_threads()
        if request.problem is not None:
            self._drafts = Drafts(request.problem, beside=not self._device.info.is_cpu)
            self._drafts.announce_checks()

        def surely(named: DeviceChoice, unit: str) -> str:
            return spelled(replace(named, unit=unit, backend=choice.backend))

        siblings = {name: surely(device_named(name), unit) for name, unit in self._device.siblings.items()}
        return DeviceAnswer(
            device=self._device.info,
            place=surely(choice, self._device.unit),
            siblings=siblings,
            others=self._device.others(),
        )

    def _measure_ceilings(self, request: CeilingsRequest) -> DeviceAnswer:
        from tui_tuner.evaluate.devices.cuda.ceilings import measure_ceilings

        self._say("measuring the device's ceilings", CEILING_LIMIT_S)
        with BESIDE.at_rest():
            return DeviceAnswer(device=measure_ceilings(self._opened, Path(request.artifact), request.bytes))

    def _launch_only(self, request: ProfileRequest) -> ProfileAnswer:
        self._say("the launch that is profiled", PROFILE_LIMIT_S)
        problem, executable = request.problem, request.executable
        outputs = frozenset(i for i, argument in enumerate(problem.arguments) if argument.output)
        self._opened.placement = placement_of(problem)
        buffers = self._opened.allocate(make_arguments(problem, {}, seed=1), outputs)
        kernel = self._opened.load(Path(executable.artifact), executable.symbol)
        for _ in range(request.launches):
            self._opened.launch(kernel, buffers, executable.shapes[-1].geometry, PROFILE_LIMIT_S)
        return ProfileAnswer()

    def _say(self, text: str, limit_s: float, *, notice: bool = False) -> None:
        self._heard_at = time.monotonic()
        limit_s += 0.0 if self._device is None else self._device.load_s
        send(self._connection, Phase(text=text, limit_s=limit_s, notice=notice).model_dump(mode="json"))


def _has_input(connection: socket.socket, limit_s: float) -> bool:
    """Whether there is something to be read within so many seconds; `select` knows no more than 1024 files."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(limit_s * 1000))


def _open_more_files() -> None:
    """Raise the limit of open files: on the C device and the emulator the data of each test are two."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def main(serve: Callable[[socket.socket], None] = lambda connection: Runner(connection).serve()) -> None:
    """Entry point of a process of its own: one that is confined, or runs under a tool."""
    die_with_parent()
    _open_more_files()
    serve(socket.socket(fileno=int(sys.argv[1])))
    sys.stdout.flush()
    # The driver's own clean-up may hang on a lost context: nothing is left that needs it.
    os._exit(0)


def serve(arguments: list[str]) -> NoReturn:
    """Entry point of the process that runners are forked from."""
    fork_server.serve(arguments, _run_forked)


def _run_forked(descriptor: int) -> None:
    connection = socket.socket(fileno=descriptor)
    while True:
        told, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
        if told != AHEAD:
            break
        from tui_tuner.evaluate.devices.cuda.backends import load

        load()
    if not told:
        return
    for stream in (1, 2):
        os.dup2(descriptors[0], stream)
    os.close(descriptors[0])
    place = receive(connection)
    os.chdir(place["directory"])  # paths of the request may be relative
    os.environ.clear()
    os.environ.update(place["environment"])
    _open_more_files()
    Runner(connection).serve()


if __name__ == "__main__":
    main()
