"""A search that chooses the next configurations before all are known: what takes long holds nothing up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session import fakes
from tests.session.fakes import FakeEvaluator, new_run, reopened, session_of
from tests.session.test_controls import of, plain, replayed, story
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.session import events
from tui_tuner.session.controls import SkipStep, Stop
from tui_tuner.session.session import Session

EVALUATIONS = 60
_BLOCKS = str([*range(32, 1056, 32)])
LARGE = fakes.PROBLEM.replace("[32, 64, 128, 256]", f"{_BLOCKS}\nwork_per_thread = [1, 2, 4, 8]").replace(
    "[defaults]", "[defaults]\nwork_per_thread = 1"
)


@pytest.fixture(autouse=True)
def _large_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fakes, "PROBLEM", LARGE)


class Slow(FakeEvaluator):
    """Takes its time for one evaluation, until so many have ended that were begun after it, or for ever."""

    def __init__(self, problem: Problem, nth: int = 34, others: int | None = None) -> None:
        super().__init__(problem)
        self.nth = nth
        self.others = others
        self.begun: list[Configuration] = []
        self.slow: Configuration | None = None
        self._overtaken = asyncio.Event()

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        self.begun.append(configuration)
        if len(self.begun) == self.nth:
            self.slow = configuration
            await self._overtaken.wait()
        await asyncio.sleep(0)
        evaluation = await super().evaluate(candidate, configuration, best_ms)
        if self.others is not None and self.slow is not None and len(self.evaluated) >= self.nth - 1 + self.others:
            self._overtaken.set()
        return evaluation


def finished(heard: list[events.Event]) -> list[events.EvaluationFinished]:
    return [event for event in heard if isinstance(event, events.EvaluationFinished)]


def after(count: int, instruction: SkipStep | Stop) -> Callable[[Session, events.Event], None]:
    """Tells the session something once so many evaluations have ended."""
    left = [*range(count)]

    def hear(session: Session, event: events.Event) -> None:
        if isinstance(event, events.EvaluationFinished) and left:
            left.pop()
            if not left:
                session.tell(instruction)

    return hear


@pytest.mark.slow
async def test_others_are_chosen_and_measured_while_one_takes_long(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search", max_evaluations=EVALUATIONS)
    machine = Slow(run.problem, others=16)
    heard = await story(session_of(run, machine))

    ended = [event.evaluation.configuration for event in finished(heard)]
    assert len(ended) == len(machine.begun) == EVALUATIONS
    assert machine.slow is not None
    assert ended.index(machine.slow) >= machine.begun.index(machine.slow) + 8
    assert plain(await replayed(tmp_path)) == plain(heard)


@pytest.mark.slow
async def test_each_has_the_number_in_a_replay_that_it_had(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search", max_evaluations=EVALUATIONS)
    heard = await story(session_of(run, Slow(run.problem, others=16)))
    numbers = {event.number: event.configuration for event in heard if isinstance(event, events.EvaluationStarted)}
    assert [*numbers] == [*range(2, EVALUATIONS + 2)]
    again = {event.number: event.evaluation.configuration for event in finished(await replayed(tmp_path))}
    assert again == numbers


@pytest.mark.slow
@pytest.mark.parametrize("kept", [30, 41, 50])
async def test_a_run_that_is_cut_off_measures_the_rest_and_nothing_twice(tmp_path: Path, kept: int) -> None:
    run = new_run(tmp_path, strategy="search", max_evaluations=EVALUATIONS)
    await story(session_of(run, Slow(run.problem, others=16)))
    lines = run.journal.path.read_bytes().splitlines(keepends=True)
    known = [number for number, line in enumerate(lines) if b'"evaluate"' in line]
    run.journal.path.write_bytes(b"".join(lines[: known[kept]]))

    again = reopened(tmp_path)
    machine = FakeEvaluator(again.problem)
    heard = await story(session_of(again, machine))
    ended = [event.evaluation.configuration for event in finished(heard)]
    assert len(ended) == len({tuple(one.items()) for one in ended}) == EVALUATIONS
    assert len(machine.evaluated) == EVALUATIONS - kept
    assert plain(await replayed(tmp_path)) == plain(heard)


@pytest.mark.slow
async def test_a_skip_ends_the_waiting_for_what_hangs_and_keeps_what_is_known(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search", max_evaluations=EVALUATIONS)
    machine = Slow(run.problem)
    heard = await story(session_of(run, machine), after(42, SkipStep()))

    assert machine.slow not in [event.evaluation.configuration for event in finished(heard)]
    assert 42 <= len(finished(heard)) < EVALUATIONS
    assert len(of(events.EvaluationLeft, heard)) >= 1
    assert "search ends: skipped by hand" in [e.text for e in heard if isinstance(e, events.Note)]
    assert plain(await replayed(tmp_path)) == plain(heard)


@pytest.mark.slow
async def test_a_stop_lets_all_end_that_are_under_way(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search", max_evaluations=EVALUATIONS)
    machine = Slow(run.problem, others=2)
    heard = await story(session_of(run, machine), after(32, Stop()))

    assert 33 < len(machine.begun) == len(finished(heard)) < EVALUATIONS
    assert not of(events.EvaluationLeft, heard)
    assert plain(await replayed(tmp_path)) == plain(heard)
