"""Replies and their limit of tokens: a run keeps what it was told with another limit, and says what a cut one needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply
from tests.session.test_controls import plain, replayed, states, story
from tui_tuner.app.sessions import resumed_session
from tui_tuner.llm import Chunk, ModelSettings, Request, Stop, Usage
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
