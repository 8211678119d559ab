"""What is told on standard error: all of it in a file, above a line of progress on a terminal, or warnings alone."""

from __future__ import annotations

import asyncio
import io

import pytest

from tests.session.fakes import DEVICE
from tui_tuner import progress
from tui_tuner.evaluate.profiling import NO_PROFILE
from tui_tuner.evaluate.results import Comparison, Evaluation, Failure, FailureKind, Timing
from tui_tuner.headless import Lines
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch
from tui_tuner.progress import Progress, Verbosity, say_above
from tui_tuner.session import events
from tui_tuner.story import KernelStory, Story
from tui_tuner.strategies.steps import Decision, ModelTrouble, Proposal, Remedy, Step, StepState
from tui_tuner.subjects import KERNEL

KERNEL_GIVEN = Candidate(source="", kernel="scale", launch=Launch())


class Terminal(io.StringIO):
    is_there = True

    def isatty(self) -> bool:
        return self.is_there

    @property
    def screen(self) -> list[str]:
        """The lines as a terminal would show them: what was erased is gone."""
        return [line.rpartition("\x1b[2K")[2] for line in self.getvalue().split("\n")]


def evaluation(ms: float | None, **values: int) -> Evaluation:
    timing = None if ms is None else Timing(median=ms, low=ms, high=ms, samples=9)
    failure = None if ms else Failure(kind=FailureKind.COMPILE, message="no", detail="kernel.cu:1: error: no\n  int x")
    return Evaluation(candidate=KERNEL_GIVEN.id, configuration=dict(values), timing=timing, failure=failure)


def started(**limits: float | None) -> events.SessionStarted:
    return events.SessionStarted(
        run="r", directory="r", kernel="scale.cu", language="cuda", strategy="search", model="a model", seed=0,
        baseline=KERNEL_GIVEN, **{"max_evaluations": 4, "max_calls": 9, **limits},
    )  # fmt: skip


STORY: list[events.Event] = [
    started(max_cost=2.0),
    events.DeviceReady(elapsed=1, device=DEVICE, sandbox="landlock"),
    events.BaselineMeasured(elapsed=2, given=evaluation(8.0)),
    events.StepChanged(elapsed=2, step=Step(id=1, title="Unroll", state=StepState.RUNNING)),
    events.PromptSent(elapsed=3, call=1, purpose="plan", text="", tokens=10),
    events.ReplyReceived(elapsed=4, call=1, text="", cost=0.25),
    events.EvaluationStarted(elapsed=4, number=1, candidate="c", configuration={"tile": 2}),
    events.EvaluationFinished(elapsed=7, number=1, evaluation=evaluation(4.0, tile=2)),
    events.EvaluationFinished(elapsed=12, number=2, evaluation=evaluation(None, tile=4)),
]


def test_the_line_says_what_runs_the_best_and_what_is_left() -> None:
    clock = [100.0]
    line = Progress(Terminal(), lambda: clock[0])
    for event in STORY[:5]:
        line.note(event)
    assert line.line() == "00:03 | 0/4 evaluations, 1/9 calls, $0.00 of $2.00 | step 1 Unroll | asking the model (plan)"
    for event in STORY[5:]:
        line.note(event)
    clock[0] += 2
    spent = "2/4 evaluations, 1/9 calls, $0.25 of $2.00"
    assert line.line() == f"00:14 | best ~2.00x | {spent} | at most 12s left | step 1 Unroll | #1 tile=2"
    of = {"elapsed": 14, "candidate": "c", "configuration": {"tile": 2}}
    line.note(events.ComparisonBegun(**of))
    assert line.line().endswith(" | step 1 Unroll | comparing tile=2")
    line.note(events.Compared(**of, comparison=Comparison(ratio=1.5, low=1.4, high=1.6, pairs=30)))
    assert line.line().endswith(" | step 1 Unroll")
    line.note(events.ProfileBegun(**of))
    assert line.line().endswith(" | step 1 Unroll | profiling tile=2")
    line.note(events.Profiled(**of, profile=NO_PROFILE))
    best = events.IncumbentChanged(
        elapsed=14, candidate=KERNEL_GIVEN, evaluation=evaluation(4.0, tile=2), speedup=(1.97, 1.9, 2.1)
    )
    line.note(best)
    assert " best 1.97x " in line.line(), "what was timed in turns counts more than times taken apart"


def test_time_that_is_limited_is_the_end_that_comes_first() -> None:
    line = Progress(Terminal(), lambda: 0.0)
    for event in [started(max_seconds=20.0), *STORY[1:]]:
        line.note(event)
    assert "at most 8s left" in line.line()


def test_limits_that_were_changed_are_those_it_shows() -> None:
    line = Progress(Terminal(), lambda: 0.0)
    for event in [*STORY, events.BudgetChanged(elapsed=12, max_evaluations=40, max_calls=3, max_cost=5.0)]:
        line.note(event)
    assert "2/40 evaluations, 1/3 calls, $0.25 of $5.00" in line.line()


def test_on_a_terminal_the_line_stays_below_the_story_and_stands_for_single_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    lines = Lines(KERNEL, out=io.StringIO(), err=terminal)
    for event in STORY:
        lines.take(event)

    shown = terminal.screen
    assert [line[:14] for line in shown[:-1]] == [
        "[00:00] starte",
        "[00:01] device",
        "[00:02] as giv",
        "[00:02] step 1",
    ]
    assert shown[-1].startswith("00:12 | best ~2.00x | 2/4 evaluations")
    assert len(shown[-1]) == 59


async def test_the_line_is_drawn_anew_while_nothing_happens_and_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "TICK_S", 0.001)
    clock, terminal = [0.0], Terminal()
    line = Progress(terminal, lambda: clock[0])
    line.note(STORY[0])
    async with line.ticking():
        while "00:07" not in terminal.getvalue():
            clock[0] = 7.5
            await asyncio.sleep(0.001)
    assert terminal.screen[-1] == ""


async def test_where_the_terminal_is_gone_a_file_gets_the_story_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "TICK_S", 0.001)
    terminal = Terminal()
    lines = Lines(KERNEL, out=io.StringIO(), err=terminal)
    async with lines.teller.ticking():
        lines.take(STORY[0])
        terminal.is_there = False
        terminal.truncate(terminal.seek(0))
        await asyncio.sleep(0.01)
        for event in STORY[1:]:
            lines.take(event)
    assert [line[:14] for line in terminal.getvalue().splitlines()] == [
        "[00:01] device",
        "[00:02] as giv",
        "[00:02] step 1",
        "[00:03] prompt",
        "[00:04] reply ",
        "[00:07] #1 til",
        "[00:12] #2 til",
    ]


def test_the_line_says_that_an_answer_is_awaited_until_it_is_there() -> None:
    line = Progress(Terminal(), lambda: 0.0)
    for event in STORY[:3]:
        line.note(event)
    line.note(events.ApprovalAsked(elapsed=2, proposal=Proposal(step=Step(id=1, title="Unroll"), about="step")))
    assert line.line() == "00:02 | 0/4 evaluations, 0/9 calls, $0.00 of $2.00 | step 1 awaits an answer"
    line.note(events.ApprovalGiven(elapsed=2, step=1, decision=Decision(action="approve")))
    line.note(STORY[3])
    assert line.line().endswith(" | step 1 Unroll")
    trouble = ModelTrouble(purpose="plan", model="a model", reason="it is not there")
    line.note(events.HelpAsked(elapsed=3, trouble=trouble))
    assert line.line().endswith(" of $2.00 | the model failed, an answer is awaited")
    line.note(events.HelpGiven(elapsed=4, remedy=Remedy(action="retry")))
    assert line.line().endswith(" | step 1 Unroll")


def test_that_an_answer_is_awaited_elsewhere_is_told_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    err = Terminal()
    monkeypatch.setattr("sys.stderr", err)
    lines = Lines(KERNEL, err=err)
    for event in STORY[:4]:
        lines.take(event)
    say_above("step 1 awaits an answer: Unroll")
    lines.take(STORY[4])
    assert "step 1 awaits an answer: Unroll" in err.screen
    assert err.screen[-1].startswith("00:03 | ")


def told(verbosity: Verbosity) -> list[str]:
    err = io.StringIO()
    lines = Lines(KERNEL, verbosity=verbosity, out=io.StringIO(), err=err)
    comparison = Comparison(ratio=1.5, low=1.4, high=1.6, pairs=30)
    compared = events.Compared(elapsed=13, candidate="c", configuration={}, comparison=comparison)
    for event in [*STORY, compared, events.Note(elapsed=14, level="warning", text="a GPU is gone")]:
        lines.take(event)
    return err.getvalue().splitlines()


def test_a_best_that_was_interrupted_before_it_was_told_is_not_nothing() -> None:
    last = events.SessionFinished(
        status="interrupted", reason="the disk is full", evaluations=6, model_calls=0,
        speedup=(29.3, 28.2, 30.3), times=(34.7, 1.184), confirmed=False,
    )  # fmt: skip
    assert KernelStory().result(last) == [
        "best      1.184 ms",
        "speed-up  29.30x [28.20, 30.30], not yet timed in turns on fresh data",
    ]
    story = KernelStory()
    for event in STORY:
        story.line(event)
    measured = last.model_copy(update={"times": (8.0, 4.0)})
    assert story.result(measured)[1] == "best      4 ms, tile=2"
    nothing = last.model_copy(update={"speedup": (1.0, 1.0, 1.0), "times": None, "confirmed": True})
    assert KernelStory().result(nothing)[-1].endswith("nothing faster was found")


def test_a_reason_is_told_once_of_a_step_however_often_its_attempts_end_with_it() -> None:
    story, wrong = Story(KernelStory()), "wrong result: at n=95: y[3] is 0, expected 2"
    running, refused = StepState.RUNNING, StepState.REJECTED
    ends = [(refused, wrong), (running, f"asked again: {wrong}"), (running, ""), (refused, wrong), (refused, wrong)]
    unroll = Step(id=1, title="Unroll")
    lines = [story.line(events.StepChanged(step=unroll.now(state, reason=reason))) for state, reason in ends]
    assert lines == [
        f"step 1 Unroll: rejected ({wrong})",
        "step 1 Unroll: running (asked again)",
        "step 1 Unroll: running",
        "step 1 Unroll: rejected (wrong result, as before)",
        None,
    ]
    late = events.StepChanged(step=Step(id=2, title="Late", state=running, reason=f"asked again: {wrong}"))
    assert story.line(late) == f"step 2 Late: running (asked again: {wrong})"


def test_what_is_no_terminal_gets_a_line_an_event() -> None:
    normal = told(Verbosity.NORMAL)
    assert "[00:07] #1 tile=2: 4 ms" in normal
    assert "[00:12] #2 tile=4: compile error: no" in normal
    assert len(normal) == 9


def test_who_wants_quiet_hears_warnings_and_who_wants_all_the_compilers_words() -> None:
    assert told(Verbosity.QUIET) == ["[00:14] warning: a GPU is gone"]
    more = [line for line in told(Verbosity.VERBOSE) if line not in told(Verbosity.NORMAL)]
    assert more == [
        "[00:12]     kernel.cu:1: error: no",
        "[00:12]       int x",
        "[00:13]     in turns with the best so far: 1.50x [1.40, 1.60], 30 pairs",
    ]


async def test_no_line_of_progress_is_drawn_into_what_a_user_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TICK_S", 0.001)
    terminal = Terminal()
    teller = progress.Teller(terminal)
    async with teller.ticking():
        teller.tell(STORY[0], "begins")
        with teller.asking():
            terminal.write("step 1 awaits you\n")
            before = terminal.getvalue()
            await asyncio.sleep(0.02)
            assert terminal.getvalue() == before
        assert terminal.screen == ["[00:00] begins", "step 1 awaits you", ""]
