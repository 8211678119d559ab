"""Machine faults of twelve kinds among 200 evaluations: all that is good is measured once, none of it blamed."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.fakes import write_problem
from tui_tuner.errors import machine_faults
from tui_tuner.evaluate import local
from tui_tuner.evaluate.build.builder import _refuse_machine_faults
from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.errors import fault_of, fell_off
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.results import Build, Evaluation, Failure, FailureKind, Timing
from tui_tuner.evaluate.runner.protocol import (
    EvaluationAnswer,
    EvaluationRequest,
    Executable,
    RunnerRequest,
    UserErrorAnswer,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied, Supervisor, _raise_failed
from tui_tuner.evaluate.sandbox.process import CommandResult
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Configuration

EVALUATIONS = 200
GOOD = EvaluationAnswer(timing=Timing(median=1.0, low=0.9, high=1.1, samples=10))
WRONG = EvaluationAnswer(failure=Failure(kind=FailureKind.WRONG_RESULT, message="C[3] is 1, not 2"))
BUSY = EvaluationAnswer(failure=Failure(kind=FailureKind.IMPLAUSIBLE, message="2 ms went by"))
Fault = Callable[[], EvaluationAnswer | None]


def of_the_system(number: int) -> Fault:
    def happen() -> None:
        with machine_faults():
            raise OSError(number, os.strerror(number), "/there")

    return happen


def of_the_device(code: int) -> Fault:
    def happen() -> None:
        raise fault_of(CudaError(code, "cuLaunchKernel"), code)

    return happen


def a_killed_runner() -> None:
    failure = Failure(kind=FailureKind.CRASH, message="the process ended (SIGKILL)")
    raise RunnerDied(failure, killed=True)


def no_device_memory() -> None:
    _raise_failed(UserErrorAnswer(message="the device has no memory left", machine=True))


def off_the_bus() -> None:
    raise fell_off()


def a_killed_compiler() -> None:
    _refuse_machine_faults(CommandResult(-signal.SIGKILL, "", timed_out=False, milliseconds=0.0), Path())
    raise AssertionError("a killed compiler was taken for one that refused the source")


IN_THE_RUNNER: dict[str, Fault] = {
    "killed": a_killed_runner,
    "no device memory": no_device_memory,
    "off the bus": off_the_bus,
    "ECC": of_the_device(214),
    "NVLink": of_the_device(220),
    "no memory": of_the_system(errno.ENOMEM),
    "no process": of_the_system(errno.EAGAIN),
    "busy": lambda: BUSY,
}
IN_THE_BUILD: dict[str, Fault] = {
    "compiler killed": a_killed_compiler,
    "disk full": of_the_system(errno.ENOSPC),
    "disk fails": of_the_system(errno.EIO),
    "too many files": of_the_system(errno.EMFILE),
}
KINDS = [*IN_THE_RUNNER, *IN_THE_BUILD]


class FaultyMachine:
    """Builds and runs; each configuration meets at most one fault, once, and every ninth is wrong."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        plan = [*KINDS, *KINDS, *KINDS] + [""] * (EVALUATIONS - 3 * len(KINDS))
        random.Random(13).shuffle(plan)  # noqa: S311 (an order, no secret)
        self.coming = dict(enumerate(plan))
        self.met: Counter[str] = Counter()
        self.answered: Counter[int] = Counter()
        self.started = 0
        self.notices: list[str] = []

    def _meet(self, number: int, faults: dict[str, Fault]) -> EvaluationAnswer | None:
        kind = self.coming[number]
        if kind not in faults:
            return None
        self.coming[number] = ""
        self.met[kind] += 1
        return faults[kind]()

    async def executable(self, _: Candidate, configuration: Configuration, __: object) -> tuple[Build, Executable]:
        number = int(configuration["number"])
        self._meet(number, IN_THE_BUILD)
        artifact = self.directory / str(number)
        artifact.write_text(str(number))
        return Build(key="k", artifact=str(artifact)), Executable(artifact=str(artifact), symbol="s", shapes=[])

    async def start(self, *_: object) -> FaultyMachine:
        self.started += 1
        return self

    async def ask(self, request: RunnerRequest) -> EvaluationAnswer:
        assert isinstance(request, EvaluationRequest)
        number = int(Path(request.executable.artifact).name)
        spoilt = self._meet(number, IN_THE_RUNNER)
        if spoilt is not None:
            return spoilt
        self.answered[number] += 1
        return WRONG if number % 9 == 0 else GOOD

    async def kill(self) -> None:
        """Gone, as a runner that nobody trusts any more."""


async def test_every_good_configuration_is_measured_once_and_none_is_lost_or_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = FaultyMachine(tmp_path)
    problem = load_problem(write_problem(tmp_path))
    made = LocalEvaluator(problem, LocalOptions("emulator", tmp_path, tmp_path / "log", 1, Policy()))
    supervisor = made._places.first
    assert isinstance(supervisor, Supervisor)
    monkeypatch.setattr(local, "PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr("tui_tuner.evaluate.runner.supervisor.RunnerProcess.start", machine.start)
    monkeypatch.setattr(made, "_executable", machine.executable)
    monkeypatch.setattr(made._places, "ask", supervisor.ask)

    async def evaluated(number: int) -> Evaluation:
        return await made.evaluate(baseline(problem), {"number": number}, None)

    found = await asyncio.gather(*map(evaluated, range(EVALUATIONS)))

    assert machine.met == Counter(dict.fromkeys(KINDS, 3)), "each kind of fault happened"
    assert len(KINDS) == 12
    assert machine.answered == Counter(range(EVALUATIONS)), "each was measured, once"
    assert [e.configuration["number"] for e in found] == [*range(EVALUATIONS)], "none is lost"
    blamed = {number: e.failure.kind for number, e in enumerate(found) if e.failure is not None}
    assert blamed == dict.fromkeys(range(0, EVALUATIONS, 9), FailureKind.WRONG_RESULT), "only what is wrong is blamed"
    fatal = 4 * 3  # killed, and lost by its memory, its links or the bus
    assert machine.started == 1 + fatal, "a runner is replaced where it or its device is gone, and only there"
