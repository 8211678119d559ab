from __future__ import annotations

import re
from pathlib import Path

import tomli

from tests.python_kernels.fakes import SOURCE, fake_process, narrow, starts
from tests.schemas import keep_to_the_schemas
from tui_tuner.app.choosing import GivenObjects
from tui_tuner.app.sessions import KernelSessionSetup, begin_session, replayed_session
from tui_tuner.headless import ApproveAll
from tui_tuner.progress import json_line
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


async def test_a_replay_needs_neither_the_kernels_process_nor_torch(tmp_path):
    first = await told(await prepared(tmp_path))
    again = await told(replayed_session(tmp_path / "run"))

    measured = [e.evaluation for e in first if isinstance(e, events.EvaluationFinished)]
    assert [e.evaluation for e in again if isinstance(e, events.EvaluationFinished)] == measured
    assert len(measured) == 11  # and the default configuration


async def test_a_resumed_session_measures_nothing_twice(tmp_path):
    first = await told(await prepared(tmp_path))
    again = await told(await prepared(tmp_path))

    assert sum(isinstance(e, events.EvaluationStarted) for e in first) == 11
    assert not any(isinstance(e, events.EvaluationStarted) for e in again)
    assert starts(tmp_path) == 1


async def test_no_tests_are_proposed_for_a_kernel_whose_arguments_are_its_files(tmp_path):
    session = await prepared(tmp_path)

    assert await session.session._machine.untested() is None
    await told(session)
    assert await replayed_session(tmp_path / "run").session._machine.untested() is None
