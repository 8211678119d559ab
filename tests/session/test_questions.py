"""The user's questions to the model: beside the strategy, which must not notice them, also in a resume and a replay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply
from tui_tuner.headless import ApproveAll
from tui_tuner.llm import Chunk, Request, Stop, Usage
from tui_tuner.llm.errors import Service, Unreachable
from tui_tuner.session import events
from tui_tuner.session.events import Event
from tui_tuner.session.plan import Ask, Withdraw
from tui_tuner.session.run_directory import RunDirectory, open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.steps import Decision, Proposal

ANSWER = "Because **loads** are wide:\n\n```cuda\nfloat4 a;\n```\n"
WHY = Ask(text="why is it faster?", about="- float a;\n+ float4 a;")


class Talkative(ScriptedModel):
    """Answers questions beside its scripted replies; each answer costs."""

    def __init__(self, *replies: str, fails: bool = False, hangs: bool = False, stop: Stop = Stop.COMPLETE) -> None:
        super().__init__(*replies)
        self.fails, self.hangs, self.stop = fails, hangs, stop
        self.questions: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        if request.purpose != "question":
            async for chunk in super().stream(request):
                yield chunk
            return
        self.questions.append(request)
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            raise Unreachable("no connection", Service("fake", ""))
        yield Chunk(text=ANSWER[:9])
        await asyncio.sleep(0)
        yield Chunk(text=ANSWER[9:], stop=self.stop, usage=Usage(900, 60, 0.5))


class Curious(ApproveAll):
    """Asks while a kernel awaits them, and approves once the answer is there."""

    def __init__(self, *questions: Ask, waits: bool = True) -> None:
        self.questions = list(questions)
        self.session: Session | None = None
        self.waits = waits
        self.answered = asyncio.Event()

    async def decide(self, proposal: Proposal) -> Decision:
        if proposal.candidate is not None and self.questions:
            assert self.session is not None
            while self.questions:
                assert self.session.tell(self.questions.pop(0))
            if self.waits:
                await self.answered.wait()
        return Decision(action="approve")


async def told(run: RunDirectory, model: ScriptedModel | None, user: ApproveAll) -> list[Event]:
    evaluator = FakeEvaluator(run.problem) if run.journal.writable else None
    session = Session(run, strategy_named("one_prompt"), evaluator, model)
    story: list[Event] = []
    if isinstance(user, Curious):
        user.session = session
        wanted = len(user.questions)
    async for event in session.events(user):
        story.append(event)
        answered = isinstance(event, events.AnswerReceived | events.AnswerFailed)
        if isinstance(user, Curious) and answered and event.number == wanted:
            user.answered.set()
    return story


OF_QUESTIONS = events.QuestionAsked | events.AnswerText | events.AnswerReceived | events.AnswerFailed


def without_questions(story: list[Event]) -> list[dict[str, object]]:
    left = [event for event in story if not isinstance(event, OF_QUESTIONS | events.ModelText)]
    times = {"elapsed", "cost", "run", "directory", "result", "resumed"}
    return [event.model_dump(exclude=times) for event in left]


def questions_of(story: list[Event]) -> list[Event]:
    kept = [event for event in story if isinstance(event, OF_QUESTIONS) and not event.transient]
    return [event.model_copy(update={"elapsed": 0.0}) for event in kept]


def steps_of(story: list[Event]) -> list[object]:
    return [event.step for event in story if isinstance(event, events.StepChanged)]


def finished(story: list[Event]) -> events.SessionFinished:
    assert isinstance(story[-1], events.SessionFinished)
    return story[-1]


async def test_a_question_is_answered_at_once_with_what_it_is_about_and_changes_nothing_else(tmp_path: Path) -> None:
    for name in ("asked", "plain"):
        (tmp_path / name).mkdir()
    model = Talkative(reply())
    story = await told(new_run(tmp_path / "asked"), model, Curious(WHY, Ask(text="and now?")))
    plain = await told(new_run(tmp_path / "plain"), ScriptedModel(reply()), ApproveAll())
    assert without_questions(story) == without_questions(plain)
    prompt = "\n".join(message.content for message in model.questions[0].messages)
    for words in ("work_per_thread", "why is it faster?", "+ float4 a;", "1. Tune the parameters", "block_size_x=32"):
        assert words in prompt
    assert [message.role for message in model.questions[1].messages] == ["system", "user", "assistant", "user"]
    words = [event.text for event in story if isinstance(event, events.AnswerText) and event.number == 1]
    assert "".join(words) == ANSWER
    assert len(words) == 2
    end = finished(story)
    assert (end.model_calls, end.cost) == (1, 1.0)


async def test_an_answer_that_is_cut_says_so_and_which_setting_helps(tmp_path: Path) -> None:
    story = await told(new_run(tmp_path), Talkative(reply(), stop=Stop.LENGTH), Curious(WHY))
    warnings = [event.text for event in story if isinstance(event, events.Note) and event.level == "warning"]
    assert [text for text in warnings if text.startswith("the answer was cut: max_tokens under [model] allows 16384")]


@pytest.mark.slow
async def test_a_replay_and_a_resume_show_it_and_ask_it_no_more(tmp_path: Path) -> None:
    story = await told(new_run(tmp_path), Talkative(reply()), Curious(WHY))
    assert [type(event) for event in questions_of(story)] == [events.QuestionAsked, events.AnswerReceived]
    replayed = await told(open_run(tmp_path / "run", resume=False), None, ApproveAll())
    assert questions_of(replayed) == questions_of(story)
    assert steps_of(replayed) == steps_of(story)
    assert finished(replayed).cost == finished(story).cost == 0.5
    model = Talkative()
    resumed = await told(reopened(tmp_path), model, ApproveAll())
    assert questions_of(resumed) == questions_of(story)
    assert (model.questions, model.requests) == ([], [])


async def test_a_question_that_fails_is_said_and_no_question_about_the_model(tmp_path: Path) -> None:
    story = await told(new_run(tmp_path), Talkative(reply(), fails=True), Curious(WHY))
    assert [event.reason for event in story if isinstance(event, events.AnswerFailed)] == ["fake: no connection"]
    assert finished(story).status == "finished"
    replayed = await told(open_run(tmp_path / "run", resume=False), None, ApproveAll())
    assert questions_of(replayed) == questions_of(story)


async def test_an_answer_that_has_not_come_at_the_end_does_not_keep_the_session(tmp_path: Path) -> None:
    story = await told(new_run(tmp_path), Talkative(reply(), hangs=True), Curious(WHY, waits=False))
    assert finished(story).status == "finished"
    replayed = await told(open_run(tmp_path / "run", resume=False), None, ApproveAll())
    said = [event.reason for event in replayed if isinstance(event, events.AnswerFailed)]
    assert said == ["the session ended before the answer came"]


class Impatient(Curious):
    """Withdraws a question that hangs, twice, and asks another one."""

    def __init__(self, model: Talkative) -> None:
        super().__init__(WHY, WHY)
        self.model = model

    async def decide(self, proposal: Proposal) -> Decision:
        if self.model.hangs:
            assert self.session is not None
            assert self.session.tell(self.questions.pop(0))
            while not self.model.questions:
                await asyncio.sleep(0)
            self.model.hangs = False
            assert self.session.tell(Withdraw())
            assert self.session.tell(Withdraw())
        return await super().decide(proposal)


async def test_a_question_that_hangs_is_withdrawn_and_the_next_one_is_answered(tmp_path: Path) -> None:
    model = Talkative(reply(), hangs=True)
    async with asyncio.timeout(60):
        story = await told(new_run(tmp_path), model, Impatient(model))
    failed = [(event.number, event.reason) for event in story if isinstance(event, events.AnswerFailed)]
    assert failed == [(1, "withdrawn by hand")]
    assert [event.number for event in story if isinstance(event, events.AnswerReceived)] == [2]
    assert finished(story).status == "finished"
    replayed = await told(open_run(tmp_path / "run", resume=False), None, ApproveAll())
    assert questions_of(replayed) == questions_of(story)


async def test_a_replay_takes_no_question_and_a_session_without_money_asks_none(tmp_path: Path) -> None:
    run = new_run(tmp_path, max_cost=0.001)
    model = Talkative(reply())
    story = await told(run, model, Curious(WHY))
    assert model.questions == []
    assert not any(isinstance(event, events.AnswerReceived) for event in story)
    replay = Session(open_run(tmp_path / "run", resume=False), strategy_named("one_prompt"), None, None)
    assert replay.tell(WHY) is False
    assert replay.tell(Withdraw()) is False
