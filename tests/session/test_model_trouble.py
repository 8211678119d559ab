"""A model that fails: what the user may do about it, and that a replay and a resume come by the same way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply
from tui_tuner.errors import ModelError
from tui_tuner.headless import ApproveAll
from tui_tuner.llm import Backend, Chunk, Request, Usage
from tui_tuner.llm.errors import BrokenOff, Service, TookTooLong, Unreachable
from tui_tuner.session import events
from tui_tuner.session.events import Event
from tui_tuner.session.run_directory import RunDirectory, open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.steps import ModelTrouble, Remedy


class Failing(ScriptedModel):
    """Cannot be reached as often as it is told, then answers; each failure costs."""

    def __init__(self, failures: int, *replies: str) -> None:
        super().__init__(*replies)
        self.failures = failures
        self.closed = False

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        if self.failures > 0:
            self.failures -= 1
            self.requests.append(request)
            error = Unreachable("no connection", Service("fake", "gpu-box:11434"))
            error.usage = Usage(cost=0.25)
            raise error
        async for chunk in super().stream(request):
            yield chunk

    async def aclose(self) -> None:
        self.closed = True


class Someone(ApproveAll):
    """Approves every step, and says in turn what is to be done about the model."""

    def __init__(self, *remedies: Remedy) -> None:
        self.remedies = list(remedies)
        self.asked: list[ModelTrouble] = []

    async def help(self, trouble: ModelTrouble) -> Remedy:
        self.asked.append(trouble)
        return self.remedies.pop(0)


RETRY, SKIP, WITHOUT = (Remedy(action=action) for action in ("retry", "skip", "without"))


async def told(
    run: RunDirectory, model: Backend | None, user: object, others: dict[str, Backend] | None = None
) -> list[Event]:
    async def models(name: str) -> Backend:
        if others is None or name not in others:
            raise ModelError(f"there is no {name}", hint="name another", file="its file")
        return others[name]

    evaluator = None if not run.journal.writable else FakeEvaluator(run.problem)
    session = Session(run, strategy_named("one_prompt"), evaluator, model, models=models)
    return [event async for event in session.events(user)]  # type: ignore[arg-type]


def replayed(directory: Path) -> RunDirectory:
    return open_run(directory / "run", resume=False)


def finished(story: list[Event]) -> events.SessionFinished:
    """Its end, the file aside, which a replay does not write."""
    assert isinstance(story[-1], events.SessionFinished)
    return story[-1].model_copy(update={"result": None, "elapsed": 0.0})


async def test_a_call_that_is_tried_again_is_one_call_and_costs_what_all_tries_cost(tmp_path: Path) -> None:
    user = Someone(RETRY, RETRY)
    story = await told(new_run(tmp_path), Failing(2, reply()), user)
    assert [(asked.purpose, asked.model) for asked in user.asked] == [("one_prompt", "scripted")] * 2
    assert "gpu-box:11434" in user.asked[0].reason
    end = finished(story)
    assert (end.status, end.model_calls, end.cost, end.model_fault) == ("finished", 1, 0.5, "")
    again = await told(replayed(tmp_path), None, ApproveAll())
    assert finished(again) == end
    assert sum(isinstance(event, events.CallFailed) for event in again) == 2


async def test_another_model_answers_from_then_on_also_in_a_replay(tmp_path: Path) -> None:
    other, broken = ScriptedModel(reply()), Failing(9)
    other.name = "other"
    user = Someone(Remedy(action="switch", model="nothing"), Remedy(action="switch", model="other"))
    story = await told(new_run(tmp_path), broken, user, {"other": other})
    assert user.asked[1].reason == "its file: there is no nothing; name another"
    assert broken.closed
    assert len(other.requests) == 1
    assert [event.model for event in story if isinstance(event, events.ModelChanged)] == ["other"]
    assert finished(story).status == "finished"
    again = await told(replayed(tmp_path), None, ApproveAll())
    assert [event.model for event in again if isinstance(event, events.ModelChanged)] == ["other"]
    assert finished(again) == finished(story)


async def test_search_only_asks_nothing_more_and_searches_what_is_left(tmp_path: Path) -> None:
    model, user = Failing(9), Someone(WITHOUT)
    story = await told(new_run(tmp_path, max_evaluations=30), model, user)
    assert len(model.requests) == 1
    end = finished(story)
    assert "without the model" in end.reason
    assert end.status == "finished"
    again = await told(replayed(tmp_path), None, ApproveAll())
    assert finished(again) == end


async def test_a_resume_asks_the_model_again_that_the_user_had_left_out(tmp_path: Path) -> None:
    await told(new_run(tmp_path), Failing(9), Someone(WITHOUT))
    model = ScriptedModel(reply())
    run = reopened(tmp_path)
    run.journal.forget_undone()  # as whoever resumes a run does
    story = await told(run, model, ApproveAll())
    assert len(model.requests) == 1
    assert finished(story).status == "finished"


async def test_a_call_that_is_left_out_fails_as_it_does_where_nobody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    asked = await told(new_run(tmp_path / "a"), Failing(9), Someone(SKIP, SKIP, SKIP))
    unasked = await told(new_run(tmp_path / "b"), Failing(9), ApproveAll())
    assert finished(asked).model_fault == finished(unasked).model_fault != ""
    assert [type(event) for event in asked if not isinstance(event, events.HelpAsked | events.HelpGiven)] == [
        type(event) for event in unasked
    ]


async def test_why_a_reply_takes_so_long_is_told_while_it_is_waited_for(tmp_path: Path) -> None:
    class Slow(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[Chunk]:
            yield Chunk(notice="the model is asked again in 6.0 s: overloaded")
            async for chunk in super().stream(request):
                yield chunk

    story = await told(new_run(tmp_path), Slow(reply()), ApproveAll())

    notes = [(event.level, event.text) for event in story if isinstance(event, events.Note)]
    assert notes.count(("warning", "the model is asked again in 6.0 s: overloaded")) == 1
    assert [type(event) for event in story if isinstance(event, events.ReplyReceived | events.CallFailed)] == [
        events.ReplyReceived
    ]


class BreaksOff(ScriptedModel):
    """Breaks off in the middle of its reply as often as it is told, then answers."""

    def __init__(self, times: int, *replies: str, retryable: bool = True) -> None:
        super().__init__(*replies)
        self.times, self.retryable = times, retryable

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        if self.times > 0:
            self.times -= 1
            self.requests.append(request)
            yield Chunk('{"code": "')
            error = BrokenOff("cut", SITE) if self.retryable else TookTooLong("too long", SITE)
            error.usage = Usage(cost=0.25)
            raise error
        async for chunk in super().stream(request):
            yield chunk


SITE = Service("fake", "gpu-box")


async def test_a_reply_that_breaks_off_is_asked_for_once_more_where_nobody_is_there_to_say_so(tmp_path: Path) -> None:
    model = BreaksOff(1, reply())
    story = await told(new_run(tmp_path), model, ApproveAll())

    assert len(model.requests) == 2
    assert [event.reason for event in story if isinstance(event, events.CallFailed)] == ["fake: cut (gpu-box)"]
    assert (finished(story).model_calls, finished(story).cost, finished(story).model_fault) == (1, 0.25, "")
    again = await told(replayed(tmp_path), None, ApproveAll())
    assert finished(again) == finished(story)
    assert [event.type for event in again if isinstance(event, events.CallFailed)] == ["call_failed"]


async def test_a_reply_that_breaks_off_again_or_took_too_long_is_given_up(tmp_path: Path) -> None:
    for number, (model, asked) in enumerate(((BreaksOff(9), 2), (BreaksOff(9, retryable=False), 1))):
        (tmp_path / str(number)).mkdir()
        story = await told(new_run(tmp_path / str(number)), model, ApproveAll())
        assert len(model.requests) == asked
        assert finished(story).model_fault


async def test_a_reply_is_not_asked_for_once_more_where_the_money_is_spent(tmp_path: Path) -> None:
    model = BreaksOff(1, reply())
    model.name = "openai:gpt-6.1-sol"
    await told(new_run(tmp_path, max_cost=0.35), model, ApproveAll())
    assert len(model.requests) == 1
