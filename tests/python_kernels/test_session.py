from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest
import tomli

from tests.python_kernels.fakes import SOURCE, fake_process, narrow, starts, written
from tests.schemas import keep_to_the_schemas
from tui_tuner.app.choosing import GivenObjects
from tui_tuner.app.sessions import KernelSessionSetup, begin_session, replayed_session
from tui_tuner.headless import ApproveAll
from tui_tuner.progress import json_line
from tui_tuner.python_kernels import KernelEvaluationRequest, KernelOpenRequest
from tui_tuner.python_kernels import client as kernel_process
from tui_tuner.python_kernels.client import KernelClient, KernelProcess
from tui_tuner.python_kernels.evaluator import PythonEvaluator, PythonOptions
from tui_tuner.session import events
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings


async def prepared(directory: Path, evaluations: int = 20) -> KernelSessionSetup:
    problem = narrow(directory)
    options = PythonOptions(directory / "runner.log", jobs=2, process=fake_process(directory))
    session = SessionOptions(strategy="search", llm="none", max_evaluations=evaluations, seed=3)
    given = GivenObjects(evaluator=PythonEvaluator(problem.problem, options))
    return await begin_session(problem, session, Settings(), directory / "run", given=given, go_on=True)


async def told(prepared_session: KernelSessionSetup) -> list[events.Event]:
    return [event async for event in prepared_session.session.events(ApproveAll())]


@pytest.mark.slow
async def test_a_search_finds_a_better_configuration_and_writes_it_ready_to_paste(tmp_path):
    found = await told(await prepared(tmp_path))
    finished = found[-1]

    assert isinstance(finished, events.SessionFinished)
    assert finished.status == "finished"
    assert finished.speedup is not None
    assert finished.speedup[0] > 1
    keep_to_the_schemas([json_line(event) for event in found if not event.transient], tmp_path / "run")
    pasted = next(e.text for e in found if isinstance(e, events.Note) and "ready to paste" in e.text)
    assert re.search(r"helion\.Config\(num_warps=\d+\)", pasted)
    assert "config = helion.Config(num_warps=" in (tmp_path / "run/best_config.py").read_text("utf-8")
    assert (tmp_path / "run/best.py").read_text("utf-8") == SOURCE
    best = tomli.loads((tmp_path / "run/best.toml").read_text("utf-8"))
    assert best["kernel"] == {"source": "best.py", "name": "matmul", "language": "python"}
    assert all(len(values) == 1 for values in best["tunables"].values())


@pytest.mark.slow
async def test_a_replay_needs_neither_the_kernels_process_nor_torch(tmp_path):
    first = await told(await prepared(tmp_path))
    again = await told(replayed_session(tmp_path / "run"))

    measured = [e.evaluation for e in first if isinstance(e, events.EvaluationFinished)]
    assert [e.evaluation for e in again if isinstance(e, events.EvaluationFinished)] == measured
    assert len(measured) == 11  # and the default configuration


@pytest.mark.slow
async def test_a_resumed_session_measures_nothing_twice(tmp_path):
    first = await told(await prepared(tmp_path))
    again = await told(await prepared(tmp_path))

    assert sum(isinstance(e, events.EvaluationStarted) for e in first) == 11
    assert not any(isinstance(e, events.EvaluationStarted) for e in again)
    assert starts(tmp_path) == 1


@pytest.mark.slow
async def test_no_tests_are_proposed_for_a_kernel_whose_arguments_are_its_files(tmp_path):
    session = await prepared(tmp_path)

    assert await session.session._machine.untested() is None
    await told(session)
    assert await replayed_session(tmp_path / "run").session._machine.untested() is None


WAIT_S = 60.0


def client_of(directory: Path) -> KernelClient:
    problem = written(directory).problem
    opening = KernelOpenRequest(
        file=str(problem.directory / problem.kernel.source),
        kernel=problem.kernel.name,
        source=problem.source_text,
        default=problem.default_configuration,
    )
    return KernelClient(partial(KernelProcess.start, directory / "log", fake_process(directory)), opening)


def request(client: KernelClient, num_warps: int = 4) -> KernelEvaluationRequest:
    return KernelEvaluationRequest(id=client.next_number(), configuration={"num_warps": num_warps})


@pytest.mark.slow
async def test_a_question_in_the_very_turn_in_which_the_last_one_is_given_up_is_answered(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    await client.open()
    try:
        given_up = asyncio.create_task(client.ask(request(client)))
        await asyncio.sleep(0)
        given_up.cancel()
        asked = asyncio.create_task(client.ask(request(client)))
        answer = await asyncio.wait_for(asked, WAIT_S)
    finally:
        await client.close()

    assert answer.failure is None
    assert given_up.cancelled()
    assert starts(tmp_path) == 1


@pytest.mark.slow
async def test_a_question_after_one_that_was_given_up_while_its_hung_process_was_killed_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killing = asyncio.Event()
    kill = KernelProcess.kill

    async def told(process: KernelProcess) -> int | None:
        killing.set()
        return await kill(process)

    monkeypatch.setattr(kernel_process, "GRACE_S", 0.0)
    monkeypatch.setattr(KernelProcess, "kill", told)
    client = client_of(tmp_path)
    await client.open()
    try:
        hangs = asyncio.create_task(client.ask(request(client, num_warps=32)))
        await asyncio.wait_for(killing.wait(), WAIT_S)
        hangs.cancel()
        await asyncio.wait({hangs})
        answer = await asyncio.wait_for(client.ask(request(client)), WAIT_S)
    finally:
        await client.close()

    assert answer.failure is None
    assert starts(tmp_path) == 2
