from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.search.spaces import START, SYNTHETIC, milliseconds
from tests.waiting import LIMIT_S, children, is_running, reached
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.client import SearchClient
from tui_tuner.search.connection import SearchError, SearchProcess
from tui_tuner.search.surrogate import FIRST

JOB = {
    "method": "surrogate",
    "seed": 1,
    "space": SearchSpace({"a": [1, 2, 3]}).description,
    "max_evaluations": 2,
    "start": {"a": 2},
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def search_processes(parent: int) -> list[int]:
    """Children of a process that run a search and are not zombies."""
    return [child for child, command in children(parent).items() if "tui_tuner.search.process" in command]


@pytest.fixture
def ours() -> Callable[[], list[int]]:
    """The search processes that have begun since the test did."""
    before = search_processes(os.getpid())
    return lambda: [process for process in search_processes(os.getpid()) if process not in before]


async def run_for_ever(started: asyncio.Event) -> None:
    async with SearchClient(SYNTHETIC, max_evaluations=50, start=START) as search:
        async for _ in search:
            started.set()
            await asyncio.sleep(3600)


async def test_cancelling_the_search_kills_its_process(ours):
    started = asyncio.Event()
    task = asyncio.create_task(run_for_ever(started))
    await started.wait()
    assert len(ours()) == 1

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ours() == []


async def test_a_process_that_is_killed_is_reported_with_its_status(ours):
    async with SearchClient(SYNTHETIC, max_evaluations=50, start=START) as search:
        batch = await anext(search)
        os.kill(ours()[0], signal.SIGKILL)
        with pytest.raises(SearchError, match=r"ended unexpectedly \(status -9\)"):
            await tell_and_go_on(search, batch)


async def tell_and_go_on(search: SearchClient, batch: list[dict]) -> None:
    await search.tell([milliseconds(configuration) for configuration in batch])
    await anext(search)


async def test_a_strategy_that_raises_is_reported_in_its_own_words():
    process = SearchProcess()
    try:
        await process.begin({**JOB, "method": "no such strategy"})
        with pytest.raises(SearchError, match="the search failed: KeyError: 'no such strategy'"):
            await process.next_batch()
    finally:
        await process.close()


async def test_the_last_words_of_a_process_that_dies_are_shown(tmp_path, monkeypatch):
    (tmp_path / "kernel_tuner.py").write_text("import os\nprint('out of luck', flush=True)\nos._exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    process = SearchProcess()
    try:
        await process.begin({**JOB, "method": "pso"})
        with pytest.raises(SearchError, match=r"status 3\):\n  out of luck"):
            await process.next_batch()
    finally:
        await process.close()


@pytest.mark.slow
async def test_one_process_carries_out_one_search_after_another_until_one_is_left_early(ours):
    process = SearchProcess()
    try:
        for _ in range(2):
            await process.begin(JOB)
            while chosen := await process.next_batch():
                await process.tell([1.0] * len(chosen[0]))
            await process.leave()
            (first,) = ours()
        await process.begin(JOB)
        await process.next_batch()
        assert ours() == [first]
        await process.leave()
        assert ours() == []
        await process.begin(JOB)
        assert await process.next_batch() == ([{"a": 2}, {"a": 1}], 0)
    finally:
        await process.close()
    assert ours() == []


async def test_a_process_that_loaded_ahead_is_the_one_that_searches(ours):
    process = SearchProcess()
    try:
        await process.load("surrogate")
        await process.load("no such strategy")
        assert await reached(lambda: len(ours()) == 1)  # a process that has just begun has no command line yet
        (first,) = ours()
        await process.begin(JOB)
        assert await process.next_batch()
        assert ours() == [first]
    finally:
        await process.close()


async def test_a_search_that_ends_with_its_first_choices_does_not_load_scipy(ours):
    process = SearchProcess()
    search = SearchClient(SYNTHETIC, max_evaluations=FIRST, start=START)
    search.process = process
    try:
        await process.load("surrogate")
        async with search:
            async for batch in search:
                await search.tell([milliseconds(configuration) for configuration in batch])
        (child,) = ours()
        loaded = Path(f"/proc/{child}/maps").read_text()
        assert "numpy" in loaded
        assert "/scipy/" not in loaded
    finally:
        await process.close()


async def test_an_end_that_is_not_waited_for_leaves_no_pipe_open():
    process = SearchProcess()
    await process.load("no such strategy")
    child = process._talk.child
    closing = asyncio.create_task(process.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert child.output._transport.is_closing()
    await child.wait()


async def test_a_process_that_died_while_it_loaded_is_replaced(ours):
    process = SearchProcess()
    try:
        await process.load("surrogate")
        assert await reached(lambda: len(ours()) == 1)
        (first,) = ours()
        os.kill(first, signal.SIGKILL)
        assert await reached(lambda: not is_running(first))
        await process.begin(JOB)
        assert await process.next_batch()
        assert ours() != [first]
    finally:
        await process.close()


@pytest.mark.slow
async def test_a_process_that_dies_between_two_searches_is_replaced(ours):
    process = SearchProcess()
    try:
        await process.begin({**JOB, "method": "no such strategy"})
        with pytest.raises(SearchError):
            await process.next_batch()
        (first,) = ours()
        os.kill(first, signal.SIGKILL)
        assert await reached(lambda: not is_running(first))
        await process.begin(JOB)
        assert await process.next_batch() == ([{"a": 2}, {"a": 1}], 0)
    finally:
        await process.close()


async def test_what_a_strategy_prints_does_not_disturb_the_conversation(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('{\"ask\": [99]}', flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    process = SearchProcess()
    try:
        await process.begin(JOB)
        assert await process.next_batch() == ([{"a": 2}, {"a": 1}], 0)
    finally:
        await process.close()


PARENT = """
import asyncio
from tests.search.test_process import run_for_ever

async def main():
    started = asyncio.Event()
    task = asyncio.create_task(run_for_ever(started))
    await started.wait()
    print("started", flush=True)
    await task

asyncio.run(main())
"""


@pytest.mark.slow
def test_the_process_dies_with_the_program_that_started_it():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"started\n"
        (search,) = search_processes(parent.pid)
        parent.kill()
    deadline = time.monotonic() + LIMIT_S
    while is_running(search) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert not is_running(search)


@pytest.mark.slow
def test_the_engine_side_imports_neither_kernel_tuner_nor_scipy():
    code = "import sys, tui_tuner.search.client; print({'kernel_tuner', 'scipy', 'numpy'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout == "set()\n"
