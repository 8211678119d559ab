"""The effect `propose`: what a search chose is recorded, and a replay needs none."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, new_run, reopened, session_of
from tui_tuner.headless import ApproveAll
from tui_tuner.problem.model import Configuration
from tui_tuner.search.client import SearchClient
from tui_tuner.session.events import EvaluationFinished, Event, SessionFinished
from tui_tuner.session.run_directory import open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.choose import strategy_named

CHOICES = {"strategy": "search", "search": "random_sample", "max_evaluations": 2}


async def all_events(session: Session) -> list[Event]:
    async with aclosing(session.events(ApproveAll())) as stream:
        return [event async for event in stream]


def measured(events: list[Event]) -> list[Configuration]:
    return [event.evaluation.configuration for event in events if isinstance(event, EvaluationFinished)]


async def no_search(*_: object) -> None:
    raise AssertionError("a search began")


@pytest.mark.slow
async def test_a_replay_measures_the_same_and_starts_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path, **CHOICES)
    events = await all_events(session_of(run, FakeEvaluator(run.problem)))
    assert len(measured(events)) == 2

    monkeypatch.setattr(SearchClient, "__aenter__", no_search)
    again = await all_events(Session(open_run(run.path, resume=False), strategy_named("search"), None, None))
    assert measured(again) == measured(events)


async def interrupted_after_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Configuration]:
    """A run of a search that asks for one configuration at a time, stopped before the second."""
    one_by_one(monkeypatch, [32, 128, 64])
    run = new_run(tmp_path, strategy="search", max_evaluations=3)
    seen: list[Configuration] = []
    async with aclosing(session_of(run, FakeEvaluator(run.problem)).events(ApproveAll())) as stream:
        async for event in stream:
            seen += measured([event])
            if seen:
                break
    return seen


def one_by_one(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    """Searches that choose these block sizes, one a batch."""

    async def choose(search: SearchClient) -> list[Configuration]:
        chosen = getattr(search, "chosen", 0)
        if chosen == len(blocks):
            raise StopAsyncIteration
        search.chosen = chosen + 1  # type: ignore[attr-defined]
        return [{"block_size_x": blocks[chosen]}]

    async def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(SearchClient, "__aenter__", nothing)
    monkeypatch.setattr(SearchClient, "__aexit__", nothing)
    monkeypatch.setattr(SearchClient, "__anext__", choose)
    monkeypatch.setattr(SearchClient, "tell", nothing)


async def test_a_resumed_search_goes_on_behind_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await interrupted_after_one(tmp_path, monkeypatch) == [{"block_size_x": 128}]
    run = reopened(tmp_path)
    evaluator = FakeEvaluator(run.problem)
    events = await all_events(session_of(run, evaluator))
    assert measured(events) == [{"block_size_x": 128}, {"block_size_x": 64}]
    assert evaluator.evaluated == [{"block_size_x": 64}], "what was measured is not measured again"


async def test_a_search_that_chooses_otherwise_on_this_machine_ends_with_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await interrupted_after_one(tmp_path, monkeypatch)
    one_by_one(monkeypatch, [32, 256, 64])
    run = reopened(tmp_path)
    events = await all_events(session_of(run, FakeEvaluator(run.problem)))
    assert measured(events) == [{"block_size_x": 128}]
    last = events[-1]
    assert isinstance(last, SessionFinished)
    assert last.status == "finished"
