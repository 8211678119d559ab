"""Prompts are worded otherwise by later versions: a reply stays the answer to what was asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply, session_of
from tests.session.test_controls import plain, replayed, states, story
from tui_tuner.journal import Journal
from tui_tuner.journal.recall import Recall, SessionClock
from tui_tuner.llm import Reply, Request
from tui_tuner.prompts import WORDING
from tui_tuner.session import one_call
from tui_tuner.strategies.steps import StepState

REWRITE = "Rewrite the kernel"


@pytest.fixture
def later_words(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on every prompt has a line more."""

    def in_later_words(made: Request | Reply) -> dict[str, Any]:
        content = dataclasses.asdict(made)
        if isinstance(made, Request):
            content["messages"][-1]["content"] += "\nThink of coalescing."
        return content

    return lambda: monkeypatch.setattr(one_call, "asdict", in_later_words)


async def test_a_replay_tells_what_was_asked_and_answered(tmp_path: Path, later_words: Callable[[], None]) -> None:
    heard = await story(session_of(run := new_run(tmp_path), FakeEvaluator(run.problem), ScriptedModel(reply())))
    later_words()
    assert plain(await replayed(tmp_path)) == plain(heard)
    assert states(heard)[REWRITE] is StepState.ACCEPTED


@pytest.mark.parametrize(("wording", "asked"), [(WORDING, 1), (WORDING + 1, 0)])
async def test_a_resumed_run_has_its_replies_where_prompts_changed_and_else_for_these_words_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later_words: Callable[[], None], wording: int, asked: int
) -> None:
    await story(session_of(run := new_run(tmp_path), FakeEvaluator(run.problem), ScriptedModel(reply())))
    later_words()
    monkeypatch.setattr("tui_tuner.session.stream.WORDING", wording)
    again, model = reopened(tmp_path), ScriptedModel(reply())
    heard = await story(session_of(again, FakeEvaluator(again.problem), model))
    assert len(model.requests) == asked
    assert states(heard)[REWRITE] is StepState.ACCEPTED


async def test_a_question_stands_for_the_likest_that_was_not_told_yet(tmp_path: Path) -> None:
    def likeness(one: Any, other: Any) -> float:
        return 1 / abs(one["x"] - other["x"]) if abs(one["x"] - other["x"]) < 4 else 0.0

    async def never() -> dict[str, Any]:
        raise AssertionError("asked again")

    journal = Journal.create(tmp_path / "j", {})
    recorded = Recall(journal, SessionClock(0.0))
    for x in (10, 20, 21):
        recorded.record("ask", {"x": x}, {"answer": x})
    journal.close()
    recall = Recall(Journal.read(tmp_path / "j"), SessionClock(0.0))
    assert recall.in_other_words("ask", {"x": 22}, likeness) == {"x": 21}
    assert await recall.once("ask", {"x": 21}, never) == {"answer": 21}
    assert recall.in_other_words("ask", {"x": 22}, likeness) == {"x": 20}
    assert recall.in_other_words("ask", {"x": 15}, likeness) is None
    assert recall.in_other_words("approve", {"x": 22}, likeness) is None


def test_what_was_just_asked_stands_for_no_other_question(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j", {})
    recall = Recall(journal, SessionClock(0.0), is_reworded=True)
    recall.record("ask", {"x": 10}, {"answer": 10})
    assert recall.in_other_words("ask", {"x": 11}, lambda one, other: 1.0) is None
    journal.close()
