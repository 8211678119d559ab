"""Whatever starts a child may be cancelled at any of its waits: no pipe, no socket and no process is left."""

from __future__ import annotations

import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.left_open import assert_can_be_cancelled_anywhere
from tests.tensile.running.programs import as_tensile
from tests.tensile.stand_in.warm import WarmStart
from tui_tuner.evaluate import runner
from tui_tuner.evaluate.library import NamedLibrary
from tui_tuner.evaluate.runner.supervisor import RunnerProcess
from tui_tuner.evaluate.sandbox.process import ForkServer
from tui_tuner.evaluate.sandbox.run import prove
from tui_tuner.processes.child import Program, running
from tui_tuner.python_kernels.client import KernelProcess, ProcessOptions
from tui_tuner.search.connection import SearchError, SearchProcess
from tui_tuner.tensile.measure import run_tensile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
TRUE = "/bin/true"
Work = Callable[[], Awaitable[object]]


@asynccontextmanager
async def a_child(_: Path) -> AsyncIterator[Work]:
    async def work() -> None:
        async with running(Program((TRUE,), {}, output=PIPE, errors=PIPE, has_input=True)) as child:
            await child.wait()

    yield work


@asynccontextmanager
async def a_kept_child(_: Path) -> AsyncIterator[Work]:
    async def work() -> None:
        async with running(Program((TRUE,), {}, output=PIPE, ends_whole=True)) as child:
            await child.wait()

    yield work


@asynccontextmanager
async def a_confined_job(_: Path) -> AsyncIterator[Work]:
    server = ForkServer()
    yield lambda: prove(server)
    server.close()


@asynccontextmanager
async def a_library(directory: Path) -> AsyncIterator[Work]:
    async def work() -> None:
        library = NamedLibrary(directory / "log")
        try:
            await library.begin()
        finally:
            await library.close()

    yield work


@asynccontextmanager
async def a_search(_: Path) -> AsyncIterator[Work]:
    async def work() -> None:
        process = SearchProcess()
        try:
            with suppress(SearchError):  # it may be gone before it is told
                await process.begin({})
        finally:
            await process.close()

    yield work


@asynccontextmanager
async def a_python_kernel(directory: Path) -> AsyncIterator[Work]:
    async def work() -> None:
        process = await KernelProcess.start(directory / "log", ProcessOptions(command=(TRUE,)))
        await process.kill()

    yield work


@asynccontextmanager
async def a_runner(directory: Path) -> AsyncIterator[Work]:
    async def work() -> None:
        process = await RunnerProcess.start(directory / "log", ())
        await process.kill()

    yield work


@asynccontextmanager
async def a_runner_ahead(directory: Path) -> AsyncIterator[Work]:
    async def work() -> None:
        try:
            runner.start_ahead("cuda:0")
            process = await RunnerProcess.start(directory / "log")
            await process.kill()
        finally:
            runner.send_home()

    yield work


@asynccontextmanager
async def tensile(directory: Path) -> AsyncIterator[Work]:
    found = as_tensile(directory, "")
    yield lambda: run_tensile(found, directory / "c", directory / "out", limit_s=600, on_line=lambda _: None)


@asynccontextmanager
async def the_stand_in_of_tensile(directory: Path) -> AsyncIterator[Work]:
    warm = WarmStart()
    program = directory / "program"
    program.write_text("tests.tensile.stand_in.main")
    program.with_name("options.json").write_text(json.dumps({}))

    async def work() -> None:
        child = await warm.start(Program((str(program),), {}, output=PIPE))
        try:
            await child.wait()
        finally:
            await child.dispose()

    yield work
    warm.close()


STARTED = (
    *(a_child, a_kept_child, a_confined_job, a_library, a_search, a_python_kernel),
    *(a_runner, a_runner_ahead, tensile, the_stand_in_of_tensile),
)


@pytest.mark.parametrize("started", STARTED, ids=lambda started: started.__name__)
async def test_what_is_cancelled_at_any_wait_leaves_nothing(
    started: Callable[[Path], AsyncIterator[Work]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if started in (a_library, a_search):
        monkeypatch.setattr(sys, "executable", TRUE)  # what is started is not what it is about
    async with started(tmp_path) as work:
        await assert_can_be_cancelled_anywhere(work)
