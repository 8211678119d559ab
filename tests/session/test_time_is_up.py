"""A session whose time comes to an end while the model is asked: the call ends, and the session as any other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply, session_of
from tests.session.test_controls import of, plain, replayed, states, story
from tests.session.test_proposals import one_by_one
from tests.waiting import LIMIT_S
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.journal import recall
from tui_tuner.llm import Chunk, Request
from tui_tuner.llm.command import CommandBackend
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.session import events
from tui_tuner.session.controls import RaiseBudget
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session.session import Session
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.steps import StepState

MOST_S = 0.01
"""Seconds of the session; its clock stands until a test moves it on."""


class Watch:
    """The session's clock."""

    now = 0.0

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch(monkeypatch)
    monkeypatch.setattr(recall, "time", SimpleNamespace(monotonic=lambda: watch.now))
    return watch


class Slow(ScriptedModel):
    """Lets the session's time go by as soon as it is asked, and answers at last if it has an answer."""

    def __init__(self, watch: Watch, *replies: str) -> None:
        super().__init__(*replies)
        self.watch = watch
        self.on_asked: Callable[[], object] = lambda: None
        self.is_cancelled = False

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        self.watch.now += 2 * MOST_S
        self.on_asked()
        try:
            for _ in range(50):
                await asyncio.sleep(0)
            if not self.replies:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise
        async for chunk in super().stream(request):
            yield chunk


AGAIN = "the model is asked again in 2.0 s: fake: too much to do (gpu-box)"


class Busy(ScriptedModel):
    """Is asked again once, then answers; without an answer the session's time goes by."""

    def __init__(self, watch: Watch, *replies: str) -> None:
        super().__init__(*replies)
        self.watch = watch

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        yield Chunk(notice=AGAIN)
        if not self.replies:
            self.watch.now += 2 * MOST_S
            await asyncio.Event().wait()
        async for chunk in super().stream(request):
            yield chunk


def told(heard: list[events.Event]) -> list[str]:
    """What is told of the calls of the model, and its warnings."""
    kinds = (events.PromptSent, events.ReplyReceived, events.CallFailed)
    return [e.text if isinstance(e, events.Note) else e.type for e in heard if isinstance(e, kinds) or is_warning(e)]


def is_warning(event: events.Event) -> bool:
    return isinstance(event, events.Note) and event.level == "warning"


async def test_a_call_of_the_model_ends_with_the_time_and_so_does_the_session(tmp_path: Path, watch: Watch) -> None:
    run, model = new_run(tmp_path, max_seconds=MOST_S), Slow(watch)
    async with asyncio.timeout(LIMIT_S):
        heard = await story(session_of(run, FakeEvaluator(run.problem), model))

    last = heard[-1]
    assert isinstance(last, events.SessionFinished)
    assert (last.status, last.reason, last.model_calls) == ("finished", "the time is up (0 s)", 0)
    assert model.is_cancelled
    assert states(heard)["Rewrite the kernel"] is StepState.SKIPPED
    assert [e.reason for e in of(events.CallFailed, heard)] == ["the time is up (0 s)"]  # type: ignore[attr-defined]
    assert (run.path / "result.json").is_file()
    assert plain(await replayed(tmp_path)) == plain(heard)
    again = replace(reopened(tmp_path), options=run.options.model_copy(update={"max_seconds": 10 * MOST_S}))
    again.journal.forget_undone()
    heard = await story(session_of(again, FakeEvaluator(again.problem), ScriptedModel(reply())))
    assert states(heard)["Rewrite the kernel"] is StepState.ACCEPTED


async def test_a_program_as_the_model_ends_with_the_time(tmp_path: Path, watch: Watch) -> None:
    begun = tmp_path / "begun"
    script = f"import os, pathlib, time; pathlib.Path({str(begun)!r}).write_text(str(os.getpid())); time.sleep(1000)"
    model = CommandBackend([sys.executable, "-c", script], 900.0)
    run = new_run(tmp_path, max_seconds=MOST_S)
    session = Session(run, strategy_named("one_prompt"), FakeEvaluator(run.problem), model)

    async def let_time_pass() -> None:
        while not begun.is_file() or not begun.read_text():
            await asyncio.sleep(0)
        watch.now = 2 * MOST_S

    async with asyncio.timeout(LIMIT_S):
        heard, _ = await asyncio.gather(story(session), let_time_pass())

    assert isinstance(heard[-1], events.SessionFinished)
    assert heard[-1].reason == "the time is up (0 s)"
    assert not Path(f"/proc/{begun.read_text()}").exists()


async def test_a_call_goes_on_for_the_time_that_is_added_meanwhile(tmp_path: Path, watch: Watch) -> None:
    run, model = new_run(tmp_path, max_seconds=MOST_S), Slow(watch, reply())
    session = session_of(run, FakeEvaluator(run.problem), model)
    model.on_asked = lambda: session.tell(RaiseBudget(max_seconds=10 * MOST_S))
    async with asyncio.timeout(LIMIT_S):
        heard = await story(session)

    assert states(heard)["Rewrite the kernel"] is StepState.ACCEPTED
    assert plain(await replayed(tmp_path)) == plain(heard)


class Lasting(FakeEvaluator):
    """Lets the session's time go by with its first evaluation."""

    def __init__(self, run: RunDirectory, watch: Watch) -> None:
        super().__init__(run.problem)
        self.watch = watch

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        self.watch.now += 2 * MOST_S
        return await super().evaluate(candidate, configuration, best_ms)


async def test_a_search_that_the_time_ended_says_so_at_its_end(tmp_path: Path, watch: Watch) -> None:
    run = new_run(tmp_path, max_seconds=MOST_S, strategy="search", search="random_sample", max_evaluations=2)
    one_by_one(watch.patch, [128, 64])
    heard = await story(session_of(run, Lasting(run, watch)))

    last = heard[-1]
    assert isinstance(last, events.SessionFinished)
    assert (last.status, last.reason, last.evaluations) == ("finished", "the time is up (0 s)", 1)
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_a_session_whose_time_is_up_while_the_model_is_busy_says_so_also_when_replayed(
    tmp_path: Path, watch: Watch
) -> None:
    run = new_run(tmp_path, max_seconds=MOST_S)
    heard = await story(session_of(run, FakeEvaluator(run.problem), Busy(watch)))

    last = heard[-1]
    assert isinstance(last, events.SessionFinished)
    assert last.reason == "the time is up (0 s) while the model could not answer: fake: too much to do (gpu-box)"
    assert last.model_fault == "it had not answered when the session ended"
    assert told(heard) == told(await replayed(tmp_path)) == ["prompt_sent", AGAIN, "call_failed"]
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_pauses_before_a_reply_are_told_in_a_replay_too(tmp_path: Path, watch: Watch) -> None:
    run = new_run(tmp_path)
    heard = await story(session_of(run, FakeEvaluator(run.problem), Busy(watch, reply())))

    assert told(heard) == told(await replayed(tmp_path)) == ["prompt_sent", AGAIN, "reply_received"]
    again = reopened(tmp_path)
    assert told(await story(session_of(again, FakeEvaluator(again.problem), ScriptedModel()))) == told(heard)
