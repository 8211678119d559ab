"""Runners that are forked from a process which has loaded all that they need, and one asked for ahead."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.waiting import reached
from tui_tuner.errors import UserError
from tui_tuner.evaluate import runner
from tui_tuner.evaluate.runner import send_home, start_ahead
from tui_tuner.evaluate.runner.protocol import OpenRequest
from tui_tuner.evaluate.runner.supervisor import RunnerDied, RunnerProcess
from tui_tuner.processes import driver_environment
from tui_tuner.processes.child import Child
from tui_tuner.processes.server import AS_STARTED, ForkedChild, ServerProcess


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(runner, "_ours", runner._OfThread())
    yield
    send_home()


def parent_of(number: int) -> int:
    return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])


@asynccontextmanager
async def a_runner(directory: Path) -> AsyncIterator[tuple[RunnerProcess, ForkedChild]]:
    process = await RunnerProcess.start(directory / "log")
    assert isinstance(process._child, ForkedChild)
    try:
        yield process, process._child
    finally:
        await process.kill()


async def serves(process: RunnerProcess) -> None:
    with pytest.raises(UserError, match="no device called"):
        await process.ask(OpenRequest(device="emulator:x"))


@pytest.mark.slow
async def test_runners_come_from_one_process_and_write_to_their_logs(tmp_path: Path) -> None:
    async with a_runner(tmp_path) as (first, one), a_runner(tmp_path) as (second, other):
        assert parent_of(one.pid) == parent_of(other.pid) != os.getpid()
        await serves(first)
        await serves(second)
        for child in (one, other):
            with Path(f"/proc/{child.pid}/fd/1").open("a") as output:
                output.write("said\n")
    assert (tmp_path / "log").read_text() == "said\nsaid\n"


@pytest.mark.slow
async def test_one_is_where_the_program_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_runner(tmp_path) as (process, child):
        await serves(process)
        assert Path(f"/proc/{child.pid}/cwd").readlink() == Path.cwd()
        monkeypatch.chdir(tmp_path)
        async with a_runner(tmp_path) as (other, one):
            await serves(other)
            assert Path(f"/proc/{one.pid}/cwd").readlink() == tmp_path


@pytest.mark.slow
async def test_one_has_the_variables_of_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_runner(tmp_path) as (process, _):
        await process.ask(OpenRequest(device="c", allow_unconfined=True))
        monkeypatch.setenv("PATH", str(tmp_path))
        async with a_runner(tmp_path) as (other, _):
            with pytest.raises(UserError, match="gcc"):
                await other.ask(OpenRequest(device="c", allow_unconfined=True))


@pytest.mark.slow
async def test_how_one_ended_is_told(tmp_path: Path) -> None:
    async with a_runner(tmp_path) as (process, child):
        os.kill(child.pid, signal.SIGSEGV)
        with pytest.raises(RunnerDied, match=r"the process ended \(SIGSEGV\)") as died:
            await process.ask(OpenRequest(device="emulator"))
        assert not died.value.killed


async def test_one_ends_when_nobody_wants_more_of_it(tmp_path: Path) -> None:
    async with a_runner(tmp_path) as (process, child):
        await process.end(60)
        assert child.returncode == 0


@pytest.mark.slow
async def test_a_process_that_was_killed_takes_its_runners_along_and_is_replaced(tmp_path: Path) -> None:
    async with a_runner(tmp_path) as (process, child):
        os.kill(parent_of(child.pid), signal.SIGKILL)
        with pytest.raises(RunnerDied) as died:
            await process.ask(OpenRequest(device="emulator"))
        assert died.value.killed
    async with a_runner(tmp_path) as (process, _):
        await serves(process)


@pytest.mark.slow
async def test_each_thread_has_a_process_of_its_own_which_ends_with_it(tmp_path: Path) -> None:
    servers: list[int] = []

    async def one() -> None:
        async with a_runner(tmp_path) as (process, child):
            servers.append(parent_of(child.pid))
            await serves(process)

    thread = threading.Thread(target=asyncio.run, args=(one(),))
    thread.start()
    await asyncio.to_thread(thread.join)
    await one()
    assert servers[0] != servers[1]
    await reached(lambda: not Path(f"/proc/{servers[0]}").exists())


@pytest.mark.slow
async def test_the_runner_that_was_asked_for_ahead_is_the_one_that_serves(tmp_path: Path) -> None:
    start_ahead("cuda:0")
    (ahead,) = runner._ours.ahead
    async with a_runner(tmp_path) as (process, child):
        assert child._forked.channel is ahead.channel
        await serves(process)
    assert runner._ours.ahead == []


@pytest.mark.slow
async def test_one_that_died_while_it_waited_is_replaced(tmp_path: Path) -> None:
    start_ahead("cuda")
    server = runner._ours.server
    assert server is not None
    _, _, (_, begun, _), _ = server._end.peek()  # type: ignore[attr-defined]
    begun.kill()
    begun.wait()
    async with a_runner(tmp_path) as (process, _):
        await serves(process)
    assert runner._ours.ahead == []


async def test_it_goes_home_where_nobody_needs_it_and_is_not_asked_for_by_other_devices() -> None:
    start_ahead("emulator")
    assert runner._ours.ahead == []
    start_ahead("cuda:0")
    (ahead,) = runner._ours.ahead
    child = await ForkedChild.told(ahead.server, beside := ahead.channel.dup())
    beside.close()
    send_home()
    assert await child.wait(60) == 0


async def test_a_confined_runner_is_one_of_its_own(tmp_path: Path) -> None:
    start_ahead("cuda:0")
    process = await RunnerProcess.start(tmp_path / "log", read=())
    await process.kill()
    assert len(runner._ours.ahead) == 1


async def one_is_a_program(directory: Path) -> None:
    """Start a runner that is not forked, and serves."""
    process = await RunnerProcess.start(directory / "log")
    try:
        assert isinstance(process._child, Child)
        await serves(process)
    finally:
        await process.kill()


@pytest.mark.slow
async def test_where_nothing_can_be_forked_from_a_runner_is_a_program_whose_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = ServerProcess("tui_tuner.evaluate.runner.missing", environment=driver_environment(), flags=AS_STARTED)
    monkeypatch.setattr(runner._ours, "server", broken)
    await one_is_a_program(tmp_path)
    broken.close()


async def test_where_the_system_does_not_tell_when_forks_end_a_runner_is_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = os.pidfd_open

    def missing_for_us(number: int) -> int:
        if number == os.getpid():
            raise OSError(errno.ENOSYS, "Function not implemented")
        return there(number)  # asyncio's own, which has another way too

    monkeypatch.setattr(os, "pidfd_open", missing_for_us)
    start_ahead("cuda:0")
    await one_is_a_program(tmp_path)
    assert runner._ours.server is None


FORKING = """
import os
from tui_tuner.evaluate.devices.native.executors import executor_server
from tui_tuner.processes.server import Forked

server = executor_server()
ours = server.asked(Forked.by)
number = os.fork()
if number == 0:
    theirs = server.asked(Forked.by)
    assert theirs.server is not ours.server
    server.close()
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 7
os.kill(ours.number, 0)
assert server.asked(Forked.by).server is ours.server
"""


@pytest.mark.slow
def test_what_a_program_of_the_users_forks_has_servers_of_its_own_and_ends_no_others() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
