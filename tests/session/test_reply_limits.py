"""Replies and their limit of tokens: a run keeps what it was told with another limit, and says what a cut one needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply
from tests.session.test_controls import of, plain, replayed, states, story
from tui_tuner.app.sessions import resumed_session
from tui_tuner.llm import Chunk, ModelSettings, Reply, Request, Stop, Usage
from tui_tuner.llm.lacking import way_out
from tui_tuner.session import conversation, events
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session.session import Session
from tui_tuner.settings import Settings
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.steps import StepState

REWRITE = "Rewrite the kernel"


class Cut(ScriptedModel):
    """Stops for the given reason as often as is told, then answers; each reply has as many tokens as it may have."""

    def __init__(self, times: int, *replies: str, stop: Stop = Stop.LENGTH, text: str = '{"code": "') -> None:
        super().__init__(*replies)
        self.times, self.stop, self.text = times, stop, text

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        if self.times > 0:
            self.times -= 1
            self.requests.append(request)
            yield Chunk(self.text, thinking="" if self.text else "hm")
            yield Chunk(stop=self.stop, usage=Usage(100, request.max_tokens, 0.0))
            return
        async for chunk in super().stream(request):
            yield chunk


def limited(run: RunDirectory, model: ScriptedModel, max_tokens: int) -> Session:
    strategy = strategy_named("one_prompt")
    return Session(run, strategy, FakeEvaluator(run.problem), model, max_tokens=max_tokens)


def warnings(heard: list[events.Event]) -> list[str]:
    return [note.text for note in of(events.Note, heard) if isinstance(note, events.Note) and note.level == "warning"]


def finished(heard: list[events.Event]) -> events.SessionFinished:
    assert isinstance(heard[-1], events.SessionFinished)
    return heard[-1]


@pytest.mark.parametrize("limit", [512, 32768])
async def test_a_run_with_a_limit_of_its_own_is_replayed_to_its_end(tmp_path: Path, limit: int) -> None:
    heard = await story(limited(new_run(tmp_path), ScriptedModel(reply()), limit))
    assert plain(await replayed(tmp_path)) == plain(heard)
    assert states(heard)[REWRITE] is StepState.ACCEPTED


async def test_replies_stay_where_the_limit_is_another_on_a_resume(tmp_path: Path) -> None:
    await story(limited(new_run(tmp_path), ScriptedModel(reply()), 512))
    model = ScriptedModel()
    heard = await story(limited(reopened(tmp_path), model, 2048))
    assert not model.requests
    assert states(heard)[REWRITE] is StepState.ACCEPTED
    assert plain(await replayed(tmp_path)) == plain(heard)


async def test_what_was_cut_is_asked_again_with_a_higher_limit_where_failures_are_to_be_retried(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    await story(limited(run, Cut(9), 512))
    left = []
    for retry, limit in ((False, 2048), (True, 512), (True, 2048)):
        settings = Settings(model=ModelSettings(max_tokens=limit))
        setup = await resumed_session(run.path, {"llm": "none"}, settings, retry_failed=retry)
        left.append(sum(record.kind == "ask" for record in setup.run.journal.records))
        setup.run.journal.close()
    assert left[0] == left[1] > left[2] == 0


async def test_a_reply_that_is_cut_says_how_to_raise_the_limit_and_is_asked_for_twice(tmp_path: Path) -> None:
    model = Cut(9)
    heard = await story(limited(new_run(tmp_path), model, 512))

    way_out = (
        "max_tokens under [model] allows 512, thoughts included; "
        "raise it, as with `tuner-tui config set model.max_tokens 1024`"
    )
    assert len(model.requests) == 2
    assert warnings(heard) == [f"reply 1 was cut: {way_out}"]
    assert finished(heard).model_fault == (
        f"no usable reply in 2 calls: the reply was cut off after 512 tokens, before its end; {way_out}"
    )
    assert plain(await replayed(tmp_path)) == plain(heard)
    assert warnings(await replayed(tmp_path)) == warnings(heard)


async def test_a_third_reply_that_is_on_record_is_still_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "is_in_vain", lambda _: False)  # as it was
    heard = await story(limited(new_run(tmp_path), Cut(2, reply()), 512))
    monkeypatch.undo()
    assert states(heard)[REWRITE] is StepState.ACCEPTED
    assert plain(await replayed(tmp_path)) == plain(heard)


@pytest.mark.parametrize(
    ("stop", "text", "calls", "told"),
    [
        (
            Stop.LENGTH,
            "",
            2,
            "reply 1 was cut: max_tokens under [model] allows 512, thoughts included, and all went into",
        ),
        (Stop.REFUSED, "No.", 2, "reply 1 was declined: name another model, with --llm or m. It said: No."),
        (Stop.COMPLETE, "", 3, 'reply 1 is nothing but thoughts: structured = "text" under [model] may bring'),
    ],
)
async def test_a_reply_that_is_no_answer_names_the_way_out(
    tmp_path: Path, stop: Stop, text: str, calls: int, told: str
) -> None:
    model = Cut(9, stop=stop, text=text)
    heard = await story(limited(new_run(tmp_path), model, 512))
    assert len(model.requests) == calls
    assert warnings(heard)[0].startswith(told)
    assert finished(heard).model_fault.endswith(warnings(heard)[0].partition(": ")[2])


def test_a_reply_that_was_cut_below_its_limit_filled_the_context() -> None:
    cut = Reply("{", stop=Stop.LENGTH, usage=Usage(3000, 1096, 0.0))
    assert way_out(cut, 16384) == (
        "max_tokens under [model] allows 16384, so the context is full; raise context_tokens under [model] for Ollama, "
        "what the server allows elsewhere, or name another model, with --llm or m"
    )
    assert way_out(Reply("{}"), 16384) == ""
