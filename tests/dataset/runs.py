"""Recorded runs for the tests: scripted models and a made-up machine."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

from tests.session.fakes import PROBLEM, FakeEvaluator, ScriptedModel, session_of, write_problem
from tui_tuner.errors import ExitCode
from tui_tuner.headless import ApproveAll
from tui_tuner.lab.export_dataset import LineFilter, export_dataset
from tui_tuner.problem.load import load_problem
from tui_tuner.session.run_directory import create
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.steps import Approver

ALL = LineFilter()


def record(
    directory: Path,
    *replies: str,
    approver: Approver | None = None,
    fail: Any = None,
    problem: str = PROBLEM,
    **options: object,
) -> Path:
    """A finished run, of `one_prompt` if nothing else is said, in which the model answers so; returns its journal."""
    file = write_problem(directory)
    file.write_text(problem, "utf-8")
    chosen = SessionOptions.model_validate({"strategy": "one_prompt", "max_evaluations": 20, **options})
    run = create(directory / "run", load_problem(file), file, chosen, "scripted")
    evaluator = FakeEvaluator(run.problem, fail)
    session = session_of(run, evaluator, ScriptedModel(*replies))

    async def to_the_end() -> None:
        async with aclosing(session.events(approver or ApproveAll())) as stream:
            async for _ in stream:
                pass

    asyncio.run(to_the_end())
    return run.journal.path


def exported(*runs: Path, into: Path, wanted: LineFilter = ALL) -> list[dict[str, Any]]:
    """The lines of runs that can all be read."""
    assert asyncio.run(export_dataset(runs, into, wanted)) is ExitCode.FINISHED
    return [json.loads(line) for line in into.read_text("ascii").splitlines()]
