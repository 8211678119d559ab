"""A runner that starts while the program loads: taken by who needs one, at home otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tui_tuner.errors import UserError
from tui_tuner.evaluate import runner
from tui_tuner.evaluate.runner import send_home, start_ahead
from tui_tuner.evaluate.runner.protocol import OpenRequest
from tui_tuner.evaluate.runner.supervisor import RunnerProcess


@pytest.fixture(autouse=True)
async def nobody_waits() -> AsyncIterator[None]:
    yield
    waiting = list(runner._waiting)
    send_home()
    for one in waiting:
        await one.child.kill()


async def test_the_runner_that_waits_is_the_one_that_serves_and_writes_to_the_log(tmp_path: Path) -> None:
    await start_ahead("cuda:0")
    (waiting,) = runner._waiting
    process = await RunnerProcess.start(tmp_path / "log")
    try:
        assert process._child is waiting.child
        with pytest.raises(UserError, match="no device called"):
            await process.ask(OpenRequest(device="emulator:x"))
        with Path(f"/proc/{waiting.child.pid}/fd/1").open("a") as output:
            output.write("said\n")
    finally:
        await process.kill()
    assert (tmp_path / "log").read_text() == "said\n"
    assert runner._waiting == []


async def test_a_runner_that_died_while_it_waited_is_replaced(tmp_path: Path) -> None:
    await start_ahead("cuda")
    (waiting,) = runner._waiting
    await waiting.child.kill()
    process = await RunnerProcess.start(tmp_path / "log")
    try:
        assert process._child is not waiting.child
        with pytest.raises(UserError, match="no device called"):
            await process.ask(OpenRequest(device="emulator:x"))
    finally:
        await process.kill()


async def test_it_goes_home_where_nobody_needs_it_and_does_not_start_for_other_devices() -> None:
    await start_ahead("emulator")
    assert runner._waiting == []
    await start_ahead("cuda:0")
    (waiting,) = runner._waiting
    send_home()
    assert await waiting.child.wait(60) == 0


async def test_a_confined_runner_is_one_of_its_own(tmp_path: Path) -> None:
    await start_ahead("cuda:0")
    process = await RunnerProcess.start(tmp_path / "log", read=())
    await process.kill()
    assert len(runner._waiting) == 1
