"""A run in which a model's rewrite became the best, one configuration of which fails; made once."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reply, session_of
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.exports import ToldRun, told_run
from tui_tuner.headless import ApproveAll
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration

TUNABLES = [
    {"name": "block_size_x", "values": [64, 128], "default": 64},
    {"name": "work_per_thread", "values": [1, 2, 4, 8], "default": 2},
]


def _fails(_: Candidate, configuration: Configuration) -> Failure | None:
    if configuration.get("work_per_thread") == 4:
        return Failure(kind=FailureKind.LAUNCH, message="too many resources")
    return None


async def _tuned(directory: Path) -> ToldRun:
    run = new_run(directory)
    session = session_of(run, FakeEvaluator(run.problem, _fails), ScriptedModel(reply(tunables=TUNABLES)))
    async with aclosing(session.events(ApproveAll())) as stream:
        async for _ in stream:
            pass
    return await told_run(run.path)


@pytest.fixture(scope="package")
def told(tmp_path_factory: pytest.TempPathFactory) -> ToldRun:
    return asyncio.run(_tuned(tmp_path_factory.mktemp("tuned")))
