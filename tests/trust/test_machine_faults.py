"""What the machine is at fault for: never a failure of a candidate, measured again, and a pause where it persists."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.evaluate.test_workbench import as_given, bench, executable, skips_the_tail
from tests.session.fakes import FakeEvaluator, new_run, reopened, session_of, write_problem
from tests.session.test_session import all_events, finished
from tui_tuner.errors import DeviceError, DeviceLost, MachineError, machine_faults
from tui_tuner.evaluate import local
from tui_tuner.evaluate.devices.base import Buffers
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.results import Build, Failure, FailureKind, Timing
from tui_tuner.evaluate.runner.protocol import (
    EvaluationAnswer,
    EvaluationRequest,
    Executable,
    LaunchShape,
    OpenRequest,
    receive,
    send,
)
from tui_tuner.evaluate.runner.server import Runner
from tui_tuner.evaluate.runner.supervisor import RunnerDied, Supervisor
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.session.events import Note

GOOD = EvaluationAnswer(timing=Timing(median=1.0, low=0.9, high=1.1, samples=10))
BUSY = EvaluationAnswer(failure=Failure(kind=FailureKind.IMPLAUSIBLE, message="2 ms went by"))
FULL = MachineError("the disk is full", hint="make room")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EIO, errno.EMFILE, errno.EAGAIN])
def test_the_machines_errors_have_words_and_a_way_out(number: int) -> None:
    with pytest.raises(MachineError, match=r"\(/there\)") as caught, machine_faults():
        raise OSError(number, os.strerror(number), "/there")
    assert caught.value.hint


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(FileNotFoundError), machine_faults():
        raise FileNotFoundError(errno.ENOENT, "no such file")


def evaluator(directory: Path, monkeypatch: pytest.MonkeyPatch, *answers: object) -> LocalEvaluator:
    """One whose builds succeed and whose runner answers so, one after the other."""
    problem = load_problem(write_problem(directory))
    options = LocalOptions("emulator", directory, directory / "log", 1, Policy())
    made, left = LocalEvaluator(problem, options), list(answers)

    artifact = directory / "artifact"
    artifact.write_bytes(b"code")

    async def build(*_: object) -> tuple[Build, Executable]:
        return Build(key="k", artifact=str(artifact)), Executable(artifact=str(artifact), symbol="s", shapes=[])

    async def answer(_: object) -> object:
        next_one = left.pop(0)
        if isinstance(next_one, Exception):
            raise next_one
        return next_one

    monkeypatch.setattr(local, "PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr(made, "_executable", build)
    monkeypatch.setattr(made._places, "ask", answer)
    return made


@pytest.mark.parametrize("first", [(FULL,), (FULL, FULL), (BUSY,), (BUSY, BUSY), (FULL, BUSY)])
async def test_what_the_machine_spoilt_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: tuple[object, ...]
) -> None:
    made = evaluator(tmp_path, monkeypatch, *first, GOOD)
    given = baseline(load_problem(tmp_path / "scale.toml"))
    assert (await made.evaluate(given, {}, None)).ok


async def test_a_fault_that_persists_is_raised_and_a_time_that_stays_implausible_is_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = evaluator(tmp_path, monkeypatch, FULL, FULL, FULL, BUSY, BUSY, BUSY)
    given = baseline(load_problem(tmp_path / "scale.toml"))
    with pytest.raises(MachineError):
        await made.evaluate(given, {}, None)
    failure = (await made.evaluate(given, {}, None)).failure
    assert failure is not None
    assert failure.kind is FailureKind.IMPLAUSIBLE


async def test_a_session_pauses_says_why_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    spoilt = FakeEvaluator(run.problem)

    def at(number: int) -> None:
        if number == 2:
            raise FULL

    spoilt.on_evaluate = at
    events = await all_events(session_of(run, spoilt))
    assert finished(events).status == "interrupted"
    assert finished(events).reason == "the disk is full"
    assert any(isinstance(e, Note) and "make room, then resume the run" in e.text for e in events)
    assert "disk" not in "".join(
        line for line in (run.path / "journal.jsonl").read_text().splitlines() if '"evaluate"' in line
    )

    healthy = FakeEvaluator(run.problem)
    again = await all_events(session_of(reopened(tmp_path), healthy))
    assert finished(again).status == "finished"
    assert len(healthy.evaluated) == 2


async def test_an_error_of_the_system_in_a_session_is_no_traceback(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    spoilt = FakeEvaluator(run.problem)

    def at(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/full")

    spoilt.on_evaluate = at
    events = await all_events(session_of(run, spoilt))
    assert (finished(events).status, finished(events).reason) == ("interrupted", "the disk is full (/full)")


def asked(runner: Callable[[socket.socket], Runner], request: Any) -> dict[str, Any]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = threading.Thread(target=lambda: runner(theirs).serve())
        thread.start()
        send(ours, request.model_dump(mode="json"))
        answer = receive(ours)
        while answer["type"] == "phase":
            answer = receive(ours)
        ours.shutdown(socket.SHUT_RDWR)
        thread.join()
    return answer


@pytest.mark.parametrize("error", [OSError(errno.EAGAIN, "no fork"), MemoryError()])
def test_a_runner_that_the_system_refuses_something_says_whose_fault_it_is(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tui_tuner.evaluate.runner.server.open_device", refuse)
    answer = asked(Runner, OpenRequest(device="emulator"))
    assert (answer["type"], answer["machine"]) == ("failed", True)


async def test_a_runner_whose_device_failed_is_replaced_and_nothing_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DeviceLost("the GPU's memory failed", hint="look at it")

    monkeypatch.setattr("tui_tuner.evaluate.runner.server.open_device", fail)
    answer = asked(Runner, OpenRequest(device="emulator"))
    assert (answer["machine"], answer["fatal"]) == (True, True)

    class Failing:
        killed = False

        async def ask(self, _: object) -> None:
            fail()

        async def kill(self) -> None:
            self.killed = True

    failing = Failing()
    supervisor = Supervisor(tmp_path / "log")
    supervisor._process = failing  # type: ignore[assignment]
    with pytest.raises(MachineError, match="memory failed"):
        await supervisor.ask(OpenRequest(device="emulator"))
    assert failing.killed
    assert supervisor._process is None


async def test_a_device_that_is_lost_again_when_it_is_taken_anew_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        notices = ()
        ended = 0

        async def ask(self, _: object) -> None:
            raise DeviceLost("the GPU is no longer there", hint="look at it")

        async def kill(self) -> None:
            self.ended += 1

    failing = Failing()

    async def start(*_: object) -> Failing:
        return failing

    monkeypatch.setattr("tui_tuner.evaluate.runner.supervisor.RunnerProcess.start", start)
    supervisor = Supervisor(tmp_path / "log")
    supervisor._opening.append(OpenRequest(device="cuda:gpu-1"))
    with pytest.raises(DeviceError, match="does not come back: the GPU is no longer there") as caught:
        await supervisor.ask(OpenRequest(device="cuda:gpu-1"))
    assert (caught.value.hint, failing.ended) == ("look at it", 1)


async def test_what_is_tried_again_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = evaluator(tmp_path, monkeypatch, DeviceLost("the GPU's memory failed"), GOOD)
    assert (await made.evaluate(baseline(load_problem(tmp_path / "scale.toml")), {}, None)).ok
    assert made.news() == ["the GPU's memory failed: no candidate is to blame, it is tried again"]
    assert made.news() == []


@pytest.mark.parametrize(("killed", "kind"), [(True, MachineError), (False, RunnerDied)])
async def test_a_runner_that_was_killed_is_not_the_candidates_fault(
    tmp_path: Path, killed: bool, kind: type[Exception]
) -> None:
    class Dead:
        async def ask(self, _: object) -> None:
            raise RunnerDied(Failure(kind=FailureKind.CRASH, message="the process ended"), killed=killed)

    supervisor = Supervisor(tmp_path / "log")
    supervisor._process = Dead()  # type: ignore[assignment]
    shape = LaunchShape(grid=(1, 1, 1), block=(1, 1, 1))
    with pytest.raises(kind):
        await supervisor.ask(EvaluationRequest(executable=Executable(artifact="a", symbol="s", shapes=[shape])))
    assert supervisor._process is None


class Crowded(NumpyDevice):
    """Has room for so many buffers at once."""

    room = 1000

    def allocate(self, *arguments: Any, **options: Any) -> Buffers:
        if self.alive >= self.room:
            raise DeviceFault(FailureKind.LAUNCH, "out of memory (CUDA_ERROR_OUT_OF_MEMORY)")
        return super().allocate(*arguments, **options)


def test_buffers_that_are_kept_make_room_and_a_full_device_is_the_machines_fault(tmp_path: Path) -> None:
    device = Crowded(given=as_given, wrong=skips_the_tail)
    work = bench(tmp_path, device)
    work.prepare(executable("given"))
    kept = device.alive
    work.evaluate(executable("wrong"), None)
    assert device.alive < kept
    device.room = kept - 2
    assert work.evaluate(executable("given"), None).failure is None
    work.evaluate(executable("wrong"), None)
    device.room = 3
    with pytest.raises(MachineError, match="the device has no memory left"):
        work.evaluate(executable("given"), None)
    device.room = 1000
    assert work.evaluate(executable("given"), None).failure is None
