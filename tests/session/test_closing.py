"""At its end a session times its best against the kernel as given: what turns out to be wrong there is no result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reply, session_of
from tests.session.test_controls import plain, replayed, story
from tui_tuner.app.sessions import resumed_session
from tui_tuner.evaluate.results import Comparison, Failure, FailureKind
from tui_tuner.exports import told_run
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.session import events
from tui_tuner.settings import Settings
from tui_tuner.story import KernelStory
from tui_tuner.strategies.steps import StepState

Kernel = tuple[Candidate, Configuration]


class WrongInTheEnd(FakeEvaluator):
    """What is written anew passes its first comparison, as with luck, and no other."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.lucky = True

    async def compare(self, incumbent: Kernel, challenger: Kernel, delta: float) -> Comparison:
        is_given = challenger[0].id == baseline(self.problem).id
        if not is_given and not self.lucky:
            return Comparison.failed(Failure(kind=FailureKind.WRONG_RESULT, message="y[3] is 0, expected 2"))
        self.lucky = self.lucky and is_given
        return await super().compare(incumbent, challenger, delta)


async def test_a_best_that_is_wrong_in_the_end_gives_way_to_the_one_before_it(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    heard = await story(session_of(run, WrongInTheEnd(run.problem), ScriptedModel(reply())))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "finished"
    assert result["best"]["configuration"] == {"block_size_x": 256}
    assert result["best"]["candidate"] == result["baseline"]["candidate"]
    assert result["speedup"][0] == pytest.approx((1 + 100 / 32) / (1 + 100 / 256))
    assert "work_per_thread" not in (tmp_path / "run" / "best.cu").read_text()

    steps = {e.step.title: e.step for e in heard if isinstance(e, events.StepChanged)}
    refused = [step for step in steps.values() if step.state is StepState.REJECTED]
    assert [step.reason for step in refused] == ["wrong after all: wrong result: y[3] is 0, expected 2"]
    told = KernelStory()
    assert "the best before it: 2.97x [2.94, 3.00] over the kernel as given" in [told.line(event) for event in heard]
    warned = [event.text for event in heard if isinstance(event, events.Note) and event.level == "warning"]
    assert "the best is wrong after all: wrong result: y[3] is 0, expected 2" in warned
    assert (await told_run(tmp_path / "run")).outcome.best.configuration == {"block_size_x": 256}
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_a_comparison_that_failed_is_made_again_where_that_is_asked_for(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    await story(session_of(run, WrongInTheEnd(run.problem), ScriptedModel(reply())))
    failed = []
    for retry in (False, True):
        setup = await resumed_session(run.path, {"llm": "none"}, Settings(), retry_failed=retry)
        failed.append([one.kind for one in setup.run.journal.records if one.result.get("failure")])
        setup.run.journal.close()
    assert failed == [["compare"], []]
