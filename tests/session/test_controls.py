"""What the user does to a session that runs; each of it is found again when the session is replayed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import cast

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply, session_of
from tests.waiting import reached
from tui_tuner.app.attaching import obey_signals
from tui_tuner.errors import ModelError
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.headless import ApproveAll
from tui_tuner.journal.recall import Recall, SessionClock
from tui_tuner.llm import Backend
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.controls import (
    AskAbout,
    Controls,
    GoOn,
    Pause,
    RaiseBudget,
    SkipStep,
    Stop,
    UseModel,
    UseStrategy,
)
from tui_tuner.session.plan import Instruction
from tui_tuner.session.run_directory import open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.base import StepSkipped
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.steps import ApprovalLevel, Decision, Proposal, StepState

SEARCH = {"strategy": "search", "search": "brute_force"}
Hear = Callable[[Session, events.Event], None]


async def story(session: Session, hear: Hear = lambda *_: None, approver: object = None) -> list[events.Event]:
    heard = []
    async with aclosing(session.events(approver or ApproveAll())) as stream:  # type: ignore[arg-type]
        async for event in stream:
            heard.append(event)
            hear(session, event)
    return heard


def telling(instruction: Instruction, when: Callable[[events.Event], bool]) -> Hear:
    """Tells a session something once, as soon as an event is heard."""
    told: list[bool] = []

    def hear(session: Session, event: events.Event) -> None:
        if not told and when(event):
            told.append(session.tell(instruction))

    return hear


def plain(heard: list[events.Event]) -> list[str]:
    """What a replay has to tell again, the notes apart: an instruction takes effect where it was recorded."""
    kept = (events.StepChanged, events.EvaluationFinished, events.IncumbentChanged, events.SessionFinished)
    return sorted(e.model_dump_json(exclude={"elapsed", "result"}) for e in heard if isinstance(e, kept))


async def replayed(directory: Path) -> list[events.Event]:
    run = open_run(directory / "run", resume=False)
    return await story(Session(run, strategy_named(run.options.strategy), None, None))


def of(kind: type[events.Event], heard: list[events.Event]) -> list[events.Event]:
    return [event for event in heard if isinstance(event, kind)]


def states(heard: list[events.Event]) -> dict[str, StepState]:
    return {e.step.title: e.step.state for e in heard if isinstance(e, events.StepChanged)}


class Hanging(FakeEvaluator):
    """Does not come back from one block size."""

    hangs_at = 128

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.hanging = asyncio.Event()

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        if configuration["block_size_x"] == self.hangs_at:
            self.hanging.set()
            await asyncio.Event().wait()
        return await super().evaluate(candidate, configuration, best_ms)


async def test_a_skipped_search_ends_with_what_it_found_also_when_resumed_and_replayed(tmp_path: Path) -> None:
    run = new_run(tmp_path, **SEARCH)
    machine = Hanging(run.problem)
    done = {64, 256}

    def hear(session: Session, event: events.Event) -> None:
        if isinstance(event, events.EvaluationFinished):
            done.discard(int(event.evaluation.configuration["block_size_x"]))
            if not done:
                session.tell(SkipStep())

    heard = await story(session_of(run, machine), hear)

    best = of(events.IncumbentChanged, heard)[-1]
    assert isinstance(best, events.IncumbentChanged)
    assert best.evaluation.configuration == {"block_size_x": 256}
    assert machine.hanging.is_set()
    assert len(of(events.EvaluationLeft, heard)) == 1
    assert "search ends: skipped by hand" in [e.text for e in heard if isinstance(e, events.Note)]
    assert plain(await replayed(tmp_path)) == plain(heard)
    again = reopened(tmp_path)
    again.journal.forget_undone()
    machine = Hanging(again.problem)
    assert plain(await story(session_of(again, machine))) == plain(heard)
    assert not machine.hanging.is_set()


async def test_a_skip_while_nothing_is_under_way_ends_what_the_running_step_begins_next() -> None:
    heard: list[events.Event] = []
    controls = Controls(cast(Recall, None), cast(Budget, None), heard.append)

    async def work() -> str:
        return "done"

    controls.act(SkipStep())
    assert [e.text for e in heard if isinstance(e, events.Note)] == ["nothing is under way that could be skipped"]
    controls.step_changed(runs=True)
    assert await controls.run([work()]) == ["done"]
    controls.act(SkipStep())
    assert len(heard) == 1
    (ended,) = await controls.run([work()])
    assert isinstance(ended, StepSkipped)
    assert await controls.run([work()]) == ["done"]
    controls.act(SkipStep())
    controls.step_changed(runs=False)
    controls.step_changed(runs=True)
    assert await controls.run([work()]) == ["done"]


async def test_a_skip_is_heard_while_a_search_chooses_what_to_measure_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(tmp_path, **SEARCH)
    session = session_of(run, FakeEvaluator(run.problem))
    changed = Controls.step_changed

    def skipped_as_it_begins(controls: Controls, *, runs: bool) -> None:
        changed(controls, runs=runs)
        if runs:
            session.tell(SkipStep())

    monkeypatch.setattr(Controls, "step_changed", skipped_as_it_begins)
    heard = await story(session)
    monkeypatch.undo()
    assert not of(events.EvaluationFinished, heard)
    assert "search ends: skipped by hand" in [e.text for e in heard if isinstance(e, events.Note)]
    assert plain(await replayed(tmp_path)) == plain(heard)


class Silent(ScriptedModel):
    """Does not answer the first question."""

    async def stream(self, request):  # type: ignore[no-untyped-def, override]
        if not self.requests:
            self.requests.append(request)
            await asyncio.Event().wait()
        async for chunk in super().stream(request):
            yield chunk


async def test_a_step_is_skipped_while_the_model_is_asked(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    skip = telling(SkipStep(), lambda event: isinstance(event, events.PromptSent))
    heard = await story(session_of(run, FakeEvaluator(run.problem), Silent()), skip)

    assert states(heard)["Rewrite the kernel"] is StepState.SKIPPED
    assert isinstance(heard[-1], events.SessionFinished)
    assert heard[-1].status == "finished"
    assert of(events.CallFailed, heard)
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_a_stopped_session_concludes_and_a_resume_goes_on(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    stop = telling(Stop(), lambda event: isinstance(event, events.PromptSent))
    heard = await story(session_of(run, FakeEvaluator(run.problem), Silent()), stop)

    last = heard[-1]
    assert isinstance(last, events.SessionFinished)
    assert (last.status, last.reason) == ("finished", "stopped by hand")
    assert plain(await replayed(tmp_path)) == plain(heard)
    again = reopened(tmp_path)
    again.journal.forget_undone()
    heard = await story(session_of(again, FakeEvaluator(again.problem), ScriptedModel(reply())))
    assert states(heard)["Rewrite the kernel"] is StepState.ACCEPTED


async def test_a_stop_answers_an_open_question_and_begins_no_evaluation(tmp_path: Path) -> None:
    run = new_run(tmp_path, **SEARCH)
    machine = FakeEvaluator(run.problem)
    stop = telling(Stop(), lambda event: isinstance(event, events.ApprovalAsked))
    heard = await story(session_of(run, machine), stop, Undecided())

    assert isinstance(heard[-1], events.SessionFinished)
    assert heard[-1].reason == "stopped by hand"
    assert machine.evaluated == []
    again = reopened(tmp_path)
    again.journal.forget_undone()
    heard = await story(session_of(again, FakeEvaluator(again.problem)))
    assert of(events.IncumbentChanged, heard)


class Undecided:
    """Never answers, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Proposal] = []

    async def decide(self, proposal: Proposal) -> Decision:
        self.asked.append(proposal)
        await asyncio.Event().wait()
        raise AssertionError


async def test_nothing_new_begins_while_a_session_is_paused(tmp_path: Path) -> None:
    run = new_run(tmp_path, **SEARCH)
    machine = FakeEvaluator(run.problem)
    session = session_of(run, machine)
    heard: list[events.Event] = []
    pause = telling(Pause(), lambda event: isinstance(event, events.BaselineMeasured))

    async def drive() -> None:
        heard.extend(await story(session, pause))

    driving = asyncio.create_task(drive())
    assert await reached(lambda: session.paused)
    for _ in range(50):
        await asyncio.sleep(0)
    assert machine.evaluated == []
    assert session.tell(GoOn())
    await driving
    assert len(machine.evaluated) == 3
    assert [e.paused for e in heard if isinstance(e, events.PauseChanged)] == [True, False]


def test_the_clock_of_a_session_stands_still_in_a_pause() -> None:
    seconds = [0.0]
    clock = SessionClock(10.0, now=lambda: seconds[0])
    clock.go_on()
    seconds[0] = 5.0
    clock.hold(True)
    seconds[0] = 100.0
    assert clock.elapsed == 15.0
    clock.hold(False)
    seconds[0] = 101.0
    assert clock.elapsed == 16.0


async def test_a_raised_budget_is_for_the_search_under_way(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search", search="random_sample", max_evaluations=1)
    more = telling(RaiseBudget(max_evaluations=3), lambda event: isinstance(event, events.SearchBegun))
    machine = FakeEvaluator(run.problem)
    heard = await story(session_of(run, machine), more)

    assert len(machine.evaluated) == 3
    changed = of(events.BudgetChanged, heard)[0]
    assert isinstance(changed, events.BudgetChanged)
    assert (changed.max_evaluations, changed.max_calls) == (3, 100)
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_another_model_answers_what_follows_and_one_that_cannot_be_had_changes_nothing(tmp_path: Path) -> None:
    first, second = ScriptedModel("nonsense"), ScriptedModel(reply())
    second.name = "other"

    async def models(name: str) -> Backend:
        if name != "other":
            raise ModelError(f"there is no {name}")
        return second

    run = new_run(tmp_path)

    def hear(session: Session, event: events.Event) -> None:
        if isinstance(event, events.PromptSent) and event.call == 1:
            session.tell(UseModel(name="other"))
            session.tell(UseModel(name="nobody"))
            session.tell(UseModel(name="other"))

    session = Session(run, strategy_named("one_prompt"), FakeEvaluator(run.problem), first, models=models)
    heard = await story(session, hear)

    assert len(second.requests) == 1
    assert states(heard)["Rewrite the kernel"] is StepState.ACCEPTED
    assert [e.model for e in heard if isinstance(e, events.ModelChanged)] == ["other", "nobody", "other"]
    assert plain(await replayed(tmp_path)) == plain(heard)


@pytest.mark.parametrize("name", ["search", "no_such_strategy"])
async def test_another_strategy_goes_on_once_the_step_is_done(tmp_path: Path, name: str) -> None:
    run = new_run(tmp_path)
    switch = telling(UseStrategy(name=name), lambda event: isinstance(event, events.SearchBegun))
    model = ScriptedModel(reply())
    heard = await story(session_of(run, FakeEvaluator(run.problem), model), switch)

    assert isinstance(heard[-1], events.SessionFinished)
    if name == "search":
        assert [e.strategy for e in heard if isinstance(e, events.StrategyChanged)] == ["search"]
        assert model.requests == []
    else:
        assert len(model.requests) == 1
        assert any("no_such_strategy" in e.text for e in heard if isinstance(e, events.Note))
    assert plain(await replayed(tmp_path)) == plain(heard)


class Counting(ApproveAll):
    """Approves, or declines what would become the best; counts what it is asked about."""

    def __init__(self, *, accepts: bool = True) -> None:
        self.asked: list[ApprovalLevel] = []
        self.accepts = accepts

    async def decide(self, proposal: Proposal) -> Decision:
        self.asked.append(proposal.about)
        declines = proposal.about is ApprovalLevel.ACCEPT and not self.accepts
        return Decision(action="reject" if declines else "approve", message="not this one" if declines else "")


class Deciding(ApproveAll):
    """Decides always the same."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    async def decide(self, proposal: Proposal) -> Decision:
        return self._decision


@pytest.mark.parametrize(
    ("level", "asked"),
    [
        ("nothing", []),
        ("plan", []),
        ("step", ["step"]),
        ("kernel", ["step", "kernel"]),
        ("accept", ["step", "accept", "kernel", "accept"]),
    ],
)
async def test_the_user_is_asked_about_what_they_want_to_be_asked_about(
    tmp_path: Path, level: str, asked: list[str]
) -> None:
    run = new_run(tmp_path)
    session = session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply()))
    session.tell(AskAbout(level=ApprovalLevel(level)))
    approver = Counting()
    heard = await story(session, approver=approver)

    assert approver.asked == asked
    assert states(heard)["Rewrite the kernel"] is StepState.ACCEPTED
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_what_the_user_does_not_accept_is_no_incumbent(tmp_path: Path) -> None:
    run = new_run(tmp_path, **SEARCH)
    session = session_of(run, FakeEvaluator(run.problem))
    session.tell(AskAbout(level=ApprovalLevel.ACCEPT))
    heard = await story(session, approver=Counting(accepts=False))

    assert of(events.IncumbentChanged, heard) == []
    assert isinstance(heard[-1], events.SessionFinished)
    assert heard[-1].status == "no_improvement"
    steps = [e.step for e in heard if isinstance(e, events.StepChanged)]
    assert steps[-1].state is StepState.REJECTED
    assert re.fullmatch(r"\d+\.\d\dx \[.*\] over the best so far, but rejected by hand: not this one", steps[-1].reason)
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_a_kernel_that_is_not_taken_is_told_to_the_model_without_what_the_plan_says(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    model = ScriptedModel(*[reply()] * 4)
    session = session_of(run, FakeEvaluator(run.problem), model)
    session.tell(AskAbout(level=ApprovalLevel.ACCEPT))
    heard = await story(session, approver=Counting(accepts=False))

    rewrite = [e.step for e in heard if isinstance(e, events.StepChanged) and e.step.title == "Rewrite the kernel"]
    rejected = [step.reason for step in rewrite if step.state is StepState.REJECTED]
    assert "over the best so far, but rejected by hand: not this one" in rejected[0]
    assert "The programmer rejected it: not this one." in str(model.requests[1])
    assert "over the best so far" not in str(model.requests[1].messages[-1])
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_a_search_that_the_user_rejects_is_rejected_and_one_that_they_skip_is_skipped(tmp_path: Path) -> None:
    for action, told in (
        ("reject", (StepState.REJECTED, "rejected by hand: no")),
        ("skip", (StepState.SKIPPED, "skipped by hand")),
    ):
        (tmp_path / action).mkdir()
        run = new_run(tmp_path / action, **SEARCH)
        approver = Deciding(Decision(action=action, message="no" if action == "reject" else ""))
        heard = await story(session_of(run, FakeEvaluator(run.problem)), approver=approver)
        step = [e.step for e in heard if isinstance(e, events.StepChanged)][-1]
        assert (step.state, step.reason) == told
        assert plain(await replayed(tmp_path / action)) == plain(heard)


async def test_a_replay_cannot_be_controlled(tmp_path: Path) -> None:
    run = new_run(tmp_path, **SEARCH)
    await story(session_of(run, FakeEvaluator(run.problem)))
    run = open_run(run.path, resume=False)
    session = Session(run, strategy_named("search"), None, None)
    assert not any(session.tell(each) for each in (Pause(), SkipStep(), Stop(), RaiseBudget(max_evaluations=9)))


async def test_signals_hold_a_session_without_a_screen_and_have_it_conclude(tmp_path: Path) -> None:
    run = new_run(tmp_path, **SEARCH)
    machine = Hanging(run.problem)
    session = session_of(run, machine)
    obey_signals(session)
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert await reached(lambda: session.paused)
        driving = asyncio.create_task(story(session))
        os.kill(os.getpid(), signal.SIGUSR2)
        assert await reached(lambda: not session.paused)
        heard = await driving
    finally:
        for name in (signal.SIGUSR1, signal.SIGUSR2):
            asyncio.get_running_loop().remove_signal_handler(name)
    assert isinstance(heard[-1], events.SessionFinished)
    assert "search ends: stopped by hand" in [e.text for e in heard if isinstance(e, events.Note)]
    assert not machine.hanging.is_set()
