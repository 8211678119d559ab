"""A model that fails is a question with keys of its own; so is what the shell is told at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import screen_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.app import showing
from tui_tuner.app.starting import SessionSetup
from tui_tuner.errors import ExitCode
from tui_tuner.session import events
from tui_tuner.session.events import Event
from tui_tuner.strategies.steps import Approver, Decision, Helper, ModelTrouble, Proposal, Remedy
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.approval import ApprovalDesk, QuestionLine
from tui_tuner.tui.dialogs import ModelDialog
from tui_tuner.tui.keys import checked_keymap

TROUBLE = ModelTrouble(purpose="apply_step", model="ollama:qwen3", reason="ollama: no [b]connection (gpu-box:11434)")


@dataclass
class Troubled(ScriptedRun):
    """Puts the trouble to the user once its events are told."""

    remedies: list[Remedy] = field(default_factory=list)

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        for entry in self.script:
            yield entry  # type: ignore[misc]
        assert isinstance(approver, Helper)
        yield events.HelpAsked(trouble=TROUBLE)
        self.remedies.append(await approver.help(TROUBLE))
        yield events.HelpGiven(remedy=self.remedies[-1])
        await asyncio.Event().wait()


KEYS = [("r", "retry"), ("f5", "retry"), ("s", "skip"), ("f4", "skip"), ("w", "without"), ("f12", "without")]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "action"), KEYS)
async def test_a_key_says_how_to_go_on(started: Started, key: str, action: str) -> None:
    run = Troubled(scripted.running())
    async with started(run, size=(80, 24)) as pilot:
        shown = screen_text(pilot.app)
        assert "✗ the model failed: ollama: no [b]connection (gpu-box:11434)" in shown
        assert all(words in shown for words in ("r retry", "m other model", "s skip call", "w no model"))
        assert "model: " not in shown  # the status line asks it no more
        await pilot.press("a", "e", "A", key)
        await settled(pilot)
        assert [remedy.action for remedy in run.remedies] == [action]
        assert "r retry" not in screen_text(pilot.app)


@pytest.mark.slow
async def test_another_model_is_named_in_a_line_that_esc_leaves(started: Started) -> None:
    run = Troubled(scripted.running())
    async with started(run) as pilot:
        await pilot.press("m", *"x", "escape")
        await settled(pilot)
        assert run.remedies == []
        await pilot.press("m")
        await settled(pilot)
        assert isinstance(pilot.app.screen, ModelDialog)
        assert "ollama[:MODEL]" in screen_text(pilot.app)
        await pilot.press("enter", *"ollama:phi", "enter")
        await settled(pilot)
        assert run.remedies == [Remedy(action="switch", model="ollama:phi")]
        assert "you> ask ollama:phi" in screen_text(pilot.app)


async def test_who_approves_everything_is_not_asked_and_no_answer_fits_the_other_question() -> None:
    desk = ApprovalDesk(lambda: None, grace_s=0.0)
    asked = asyncio.create_task(desk.help(TROUBLE))
    await asyncio.sleep(0)
    desk.answer(Decision(action="approve"))
    assert desk.allows("decide") is False
    desk.answer(Remedy(action="retry"))
    assert await asked == Remedy(action="retry")
    desk.approves_all = True
    assert await desk.help(TROUBLE) == Remedy(action="skip")


async def test_who_takes_over_from_a_broken_screen_answers_what_they_know() -> None:
    class ApprovesOnly:
        async def decide(self, proposal: Proposal) -> Decision:
            return Decision(action="approve")

    desk = ApprovalDesk(lambda: None, grace_s=0.0)
    asked = asyncio.create_task(desk.help(TROUBLE))
    await asyncio.sleep(0)
    desk.hand_over(ApprovesOnly())
    assert await asked == Remedy(action="skip")


def test_a_key_for_a_step_may_be_one_for_the_model_but_no_two_of_either_are_the_same() -> None:
    assert checked_keymap({"approve": "w"})
    with pytest.raises(Exception, match="the key 'w'"):
        checked_keymap({"model_retry": "w"})


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "code"), [("", ExitCode.NO_IMPROVEMENT), ("no connection", ExitCode.NO_MODEL)])
async def test_the_shell_is_told_of_a_model_that_was_of_no_use_after_the_screen_too(
    started: Started, monkeypatch: pytest.MonkeyPatch, fault: str, code: ExitCode
) -> None:
    end = events.SessionFinished(status="no_improvement", reason="-", evaluations=1, model_calls=1, model_fault=fault)
    async with started(ScriptedRun([*scripted.opening(), end])) as pilot:
        app = pilot.app
        assert isinstance(app, TunerApp)
        assert ("was of no use: no connection" in screen_text(app)) == bool(fault)

        async def left() -> str:
            return "no_improvement"

        monkeypatch.setattr(app, "run_async", left)
        assert await showing._shown(app, showing.StartingSession(_never, "")) == code


async def _never() -> SessionSetup:
    raise AssertionError


async def test_a_hint_is_set_off_from_what_failed_in_the_question_and_at_the_end(started: Started) -> None:
    told = "nobody answers\n  start the model"
    trouble = ModelTrouble(purpose="plan", model="m", reason=told)
    line = QuestionLine("=", "q")
    line.ask(trouble, "")
    assert "nobody answers; start the model" in str(line.render())
    end = events.SessionFinished(status="failed", reason=told, evaluations=0, model_calls=0)
    async with started(ScriptedRun([*scripted.opening(), end])) as pilot:
        assert "nobody answers; start the model" in screen_text(pilot.app)
