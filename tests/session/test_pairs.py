"""What the table of a session offers: comparisons at the user's wish, and what holds a launch back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.test_bottleneck import H200
from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply, session_of, write_problem
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.evaluator import MachineReport, in_both_turns
from tui_tuner.evaluate.results import Comparison, Failure, FailureKind
from tui_tuner.headless import ApproveAll
from tui_tuner.problem.candidate import Configured, baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Test
from tui_tuner.session import events, stream
from tui_tuner.session.events import Event
from tui_tuner.session.plan import Compare
from tui_tuner.session.run_directory import RunDirectory, open_run
from tui_tuner.story import pair_line

OF_PAIRS = events.PairAsked | events.PairCompared


class Slow(FakeEvaluator):
    """A comparison takes 5 ms, and the loop many turns meanwhile."""

    async def compare(self, *asked: Any, **how: bool) -> Comparison:
        time.sleep(0.005)
        for _ in range(50):
            await asyncio.sleep(0)
        return await super().compare(*asked, **how)


def pair(run: RunDirectory, first: int = 32, second: int = 256) -> Compare:
    candidate = baseline(run.problem).id
    sizes = [Configured(candidate=candidate, configuration={"block_size_x": size}) for size in (first, second)]
    return Compare(first=sizes[0], second=sizes[1])


async def told(run: RunDirectory, wanted: Sequence[Compare], *, at: type[Event], stays: bool = False) -> list[Event]:
    """The story of a session that is told to compare once an event of a kind is seen.

    One that stays is left after all comparisons at its end.
    """
    evaluator = Slow(run.problem) if run.journal.writable else None
    session = session_of(run, evaluator, ScriptedModel(reply()) if run.journal.writable else None)
    session.stays = stays
    story: list[Event] = []
    async with aclosing(session.events(ApproveAll())) as told_events:
        async for event in told_events:
            first = isinstance(event, at) and not any(isinstance(before, at) for before in story)
            story.append(event)
            if first:
                assert all(session.tell(one) for one in wanted) == run.journal.writable or not wanted
            over = [isinstance(before, events.SessionFinished) for before in story]
            if stays and True in over and len(pairs_of(story[over.index(True) :])) == 2 * len(wanted):
                break
    return story


def pairs_of(story: list[Event]) -> list[Event]:
    return [event.model_copy(update={"elapsed": 0.0}) for event in story if isinstance(event, OF_PAIRS)]


def others(story: list[Event]) -> list[dict[str, object]]:
    left = {"elapsed", "run", "directory", "result", "resumed"}
    kept = [event for event in story if not isinstance(event, OF_PAIRS) and not event.transient]
    return [event.model_dump(exclude=left) for event in kept]


async def test_two_that_were_measured_are_compared_while_the_session_runs_which_learns_nothing_of_it(
    tmp_path: Path,
) -> None:
    for name in ("compared", "plain"):
        (tmp_path / name).mkdir()
    run = new_run(tmp_path / "compared")
    wanted = [pair(run), pair(run, second=17)]
    story = await told(run, wanted, at=events.CandidateProposed)
    assert others(story) == others(await told(new_run(tmp_path / "plain"), [], at=events.CandidateProposed))
    asked, found, _, fault = pairs_of(story)
    assert isinstance(asked, events.PairAsked)
    assert asked.second == wanted[0].second
    assert isinstance(found, events.PairCompared)
    assert found.comparison is not None
    assert (found.verdict, found.comparison.pairs) == ("FAST", 60)  # of both turns
    assert isinstance(fault, events.PairCompared)
    assert (fault.comparison, fault.verdict) == (None, None)
    assert "was not timed with block_size_x=17" in fault.fault
    assert pair_line(found).endswith("block_size_x=32: FAST, 2.97x [2.94, 3.00]")
    assert pair_line(fault).endswith("was not timed with block_size_x=17")
    again = await told(open_run(run.path, resume=False), [], at=events.SessionStarted)
    assert pairs_of(again) == pairs_of(story)
    resumed = await told(reopened(tmp_path / "compared"), [], at=events.SessionStarted)
    assert pairs_of(resumed) == pairs_of(story)


async def test_a_run_that_is_over_still_compares_while_somebody_listens_and_a_replay_does_not(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    story = await told(run, [pair(run), pair(run, 64)], at=events.SessionFinished, stays=True)
    assert [type(event) for event in story[-3:]] == [events.PairCompared, events.PairAsked, events.PairCompared]
    assert story[-2].elapsed == story[-1].elapsed  # the session's time is over
    resumed = await told(reopened(tmp_path), [pair(run, 64, 32)], at=events.SessionFinished, stays=True)
    assert [event.verdict for event in resumed if isinstance(event, events.PairCompared)] == ["FAST", "FAST", "SLOW"]
    replayed = session_of(open_run(run.path, resume=False), None)
    assert not replayed.tell(pair(run))


async def test_the_device_is_given_back_when_nobody_compares_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HELD_S", 0.01)
    run = new_run(tmp_path)
    session = session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply()))
    session.stays = True
    kept: list[bool] = []
    waits = session._next_held

    async def seen() -> events.Event | None:
        kept.append(session.keeps_device)
        return await waits()

    monkeypatch.setattr(session, "_next_held", seen)
    story = [event async for event in session.events(ApproveAll())]
    assert isinstance(story[-1], events.SessionFinished)
    assert kept
    assert kept[-1]
    assert not session.keeps_device
    assert not session.tell(pair(run))


async def test_the_interval_of_both_turns_holds_that_of_each_and_a_kernel_that_was_right_gets_no_verdict(
    tmp_path: Path,
) -> None:
    problem = load_problem(write_problem(tmp_path))
    turns = [
        Comparison(ratio=2.0, low=1.8, high=2.2, pairs=20),
        Comparison(ratio=0.5, low=0.4, high=0.5, pairs=22),
        Comparison(ratio=1.0, low=1.0, high=1.0, pairs=3),
        Comparison(
            ratio=0, low=0, high=0, pairs=0, failure=Failure(kind=FailureKind.WRONG_RESULT, message="y[3] is 0")
        ),
    ]

    class Turns(FakeEvaluator):
        async def compare(self, *_: object, thorough: bool = False) -> Comparison:
            assert thorough
            return turns.pop(0)

    given = baseline(problem)
    one = (given, given.default_configuration)
    found = await in_both_turns(Turns(problem), one, one, 0.01)
    assert (found.ratio, found.low, found.high, found.pairs) == (2.0, 1.8, 2.5, 42)
    with pytest.raises(DeviceError, match="the first kernel fails on fresh inputs"):
        await in_both_turns(Turns(problem), one, one, 0.01)


async def test_what_holds_a_launch_back_is_told_with_its_result_where_the_devices_ceilings_are_known(
    tmp_path: Path,
) -> None:
    class Ceilings(FakeEvaluator):
        async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
            return replace(await super().start(proposed), device=H200)

    run = new_run(tmp_path)
    live = [
        event async for event in session_of(run, Ceilings(run.problem), ScriptedModel(reply())).events(ApproveAll())
    ]
    again = session_of(open_run(run.path, resume=False), None).events(ApproveAll())
    for story in (live, [event async for event in again]):
        told = [event for event in story if isinstance(event, events.EvaluationFinished | events.BaselineMeasured)]
        assert len(told) > 2
        assert {event.diagnosis.bottleneck for event in told if event.diagnosis is not None} == {"grid"}
        assert all(Event.model_validate(event.model_dump(mode="json")) == event for event in told)
