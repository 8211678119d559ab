"""The runner process: it alone holds the device, and it can be killed.

Started as `python -m tui_tuner.evaluate.runner FD`; speaks frames of `tui_tuner.evaluate.protocol` over
the socket FD until that is closed. Its standard output and error are the device libraries' own.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from tui_tuner.errors import MachineError, UserError, machine_faults
from tui_tuner.evaluate.devices.base import Device, DeviceChoice, DeviceFault
from tui_tuner.evaluate.devices.choose import device_named, open_device, spelled
from tui_tuner.evaluate.protocol import (
    CeilingsRequest,
    ChannelClosed,
    ChecksRequest,
    ComparisonRequest,
    DeviceAnswer,
    EvaluationAnswer,
    EvaluationRequest,
    Frame,
    OpenRequest,
    Phase,
    PreparationRequest,
    RehearsalRequest,
    RunnerRequest,
    UserErrorAnswer,
    receive,
    send,
)
from tui_tuner.evaluate.rehearsal import Rehearsal
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.evaluate.workbench import Workbench
from tui_tuner.processes.parent import die_with_parent

OPEN_LIMIT_S = 120.0
CEILING_LIMIT_S = 60.0


class Runner:
    """Serves requests one after another."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._device: Device | None = None
        self._workbench: Workbench | None = None

    def serve(self) -> None:
        """Answer until the other side closes, or until the device's context is lost."""
        adapter: TypeAdapter[RunnerRequest] = TypeAdapter(RunnerRequest)
        while True:
            try:
                request = adapter.validate_python(receive(self._connection))
            except ChannelClosed:
                return
            answer = self._answer(request)
            send(self._connection, answer.model_dump(mode="json"))
            if getattr(answer, "fatal", False):
                return

    def _answer(self, request: RunnerRequest) -> Frame:
        try:
            with machine_faults():
                return self._serve_one(request)
        except UserError as error:
            file, machine = None if error.file is None else str(error.file), isinstance(error, MachineError)
            return UserErrorAnswer(message=error.message, hint=error.hint, file=file, line=error.line, machine=machine)
        except DeviceFault as fault:
            return EvaluationAnswer(failure=Failure(kind=fault.kind, message=fault.message), fatal=fault.fatal)

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
                return Rehearsal(self._opened, request.problem, self._say).run(request.baseline)
            case PreparationRequest():
                self._workbench = Workbench(self._opened, request.problem, self._say, draws=request.draws)
                return self._workbench.prepare(request.baseline)
            case EvaluationRequest():
                return self._bench.evaluate(request.executable, request.best_ms)
            case ComparisonRequest():
                return self._bench.compare(request.incumbent, request.challenger, request.delta)

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

        def surely(named: DeviceChoice, unit: str) -> str:
            return spelled(replace(named, unit=unit, backend=choice.backend))

        siblings = {name: surely(device_named(name), unit) for name, unit in self._device.siblings.items()}
        return DeviceAnswer(device=self._device.info, place=surely(choice, self._device.unit), siblings=siblings)

    def _measure_ceilings(self, request: CeilingsRequest) -> DeviceAnswer:
        from tui_tuner.evaluate.devices.cuda.ceilings import measure_ceilings

        self._say("measuring the device's ceilings", CEILING_LIMIT_S)
        return DeviceAnswer(device=measure_ceilings(self._opened, Path(request.artifact), request.bytes))

    def _say(self, text: str, limit_s: float) -> None:
        send(self._connection, Phase(text=text, limit_s=limit_s).model_dump(mode="json"))


def main(serve: Callable[[socket.socket], None] = lambda connection: Runner(connection).serve()) -> None:
    """Entry point of the process."""
    die_with_parent()
    connection = socket.socket(fileno=int(sys.argv[1]))
    serve(connection)
    sys.stdout.flush()
    # The driver's own clean-up may hang on a lost context: nothing is left that needs it.
    os._exit(0)


if __name__ == "__main__":
    main()
