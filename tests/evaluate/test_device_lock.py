"""One run at a time works on a device, whoever waits is told for whom, and can leave."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.session.fakes import FakeEvaluator, new_run
from tui_tuner.evaluate.runner import device_lock
from tui_tuner.evaluate.runner import server as runner
from tui_tuner.evaluate.runner.device_lock import DeviceLock
from tui_tuner.evaluate.runner.protocol import ChecksRequest, OpenRequest, receive, send
from tui_tuner.evaluate.runner.server import Runner
from tui_tuner.journal.recall import Recall, SessionClock
from tui_tuner.session.machine import Machine

UNIT = "gpu-1234"


class GaveUp(Exception):
    pass


def give_up(holder: str) -> None:
    raise GaveUp(holder)


def test_a_device_is_held_by_one_and_whoever_waits_is_told_by_whom(tmp_path: Path) -> None:
    first, second = (DeviceLock(UNIT, run, tmp_path) for run in ("first", "second"))
    with first.held(give_up), pytest.raises(GaveUp, match="first"), second.held(give_up):
        pass
    with second.held(give_up):
        assert first.holder() == "second"
    other = DeviceLock("gpu-5678", "other", tmp_path)
    with first.held(give_up), other.held(give_up):
        pass


def test_who_waits_comes_before_the_next_request_of_who_held_it(tmp_path: Path) -> None:
    first, second = (DeviceLock(UNIT, run, tmp_path) for run in ("first", "second"))
    served, waits, done = [], threading.Event(), threading.Event()

    def wait_and_serve() -> None:
        with second.held(lambda _: waits.set()):
            served.append("second")
            done.wait(20)

    thread = threading.Thread(target=wait_and_serve)
    with first.held(give_up):
        thread.start()
        assert waits.wait(20)
        with pytest.raises(GaveUp), first.held(give_up):
            pass
    with first.held(lambda _: done.set() if served else None):
        served.append("first")
    thread.join()
    assert served == ["second", "first"]


def test_a_holder_that_is_killed_gives_the_device_back(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from tui_tuner.evaluate.runner.device_lock import DeviceLock\n"
        "with DeviceLock(sys.argv[1], 'killed', pathlib.Path(sys.argv[2])).held(print):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, UNIT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        mine = DeviceLock(UNIT, "mine", tmp_path)
        with pytest.raises(GaveUp, match="killed"), mine.held(give_up):
            pass
        holder.kill()
        holder.wait()
        with mine.held(give_up):
            assert mine.holder() == "mine"


def test_where_no_lock_can_be_written_the_device_is_used_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with DeviceLock(UNIT, "run", tmp_path / "file" / "locks").held(give_up):
        pass


class Gpu(NumpyDevice):
    unit = UNIT

    def use_checks(self, artifact: Path) -> None:
        pass


def test_a_runner_that_waits_says_for_which_run_and_goes_on_when_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_lock, "locks_directory", lambda: tmp_path)
    monkeypatch.setattr(runner, "open_device", lambda *_, **__: Gpu())
    monkeypatch.setattr(runner, "PATIENT_S", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = threading.Thread(target=Runner(theirs).serve)
        thread.start()

        def ask(request: Any) -> None:
            send(ours, request.model_dump(mode="json"))

        ask(OpenRequest(device="cuda", run="runs/mine"))
        while receive(ours)["type"] == "phase":
            pass
        with DeviceLock(UNIT, "runs/theirs").held(give_up):
            ask(ChecksRequest(artifact="checks"))
            said = receive(ours)
        assert (said["type"], said["notice"]) == ("phase", True)
        assert said["text"] == "waits for run runs/theirs, which works on the same device; who leaves can resume later"
        answer = receive(ours)
        while answer["type"] == "phase":
            assert not answer["notice"], "it is told once"
            answer = receive(ours)
        assert answer["type"] == "opened"
        ours.shutdown(socket.SHUT_RDWR)
        thread.join()


async def test_the_user_is_told_while_it_waits_and_leaving_ends_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_tuner.session.machine.NEWS_S", 0.0)
    run = new_run(tmp_path, strategy="search")
    told: list[str] = []
    heard, ended = asyncio.Event(), asyncio.Event()

    class Waiting(FakeEvaluator):
        def news(self) -> list[str]:
            return [] if told else ["waits for run x"]

    def tell(text: str) -> None:
        told.append(text)
        heard.set()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    machine = Machine(run.problem, Waiting(run.problem), Recall(run.journal, SessionClock(0.0)), tell)
    watching = asyncio.ensure_future(machine.watched(wait()))
    await heard.wait()
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    run.journal.close()
    assert ended.is_set()
    assert told == ["waits for run x"]
