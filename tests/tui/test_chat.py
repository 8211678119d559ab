"""The chat's lines to type into: words for the model at any time, and the reason of a rejection."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Input

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.session import events
from tui_tuner.session.plan import Say
from tui_tuner.strategies.steps import Decision
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.chat_pane import ReasonInput, SayInput

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
WORDS = "load 16 bytes [b]at once"


def words(app: TunerApp) -> str:
    return app.session_screen.query_one(SayInput).value


@SIZES
@pytest.mark.parametrize("key", ["c", "ctrl+t"])
async def test_words_are_told_with_enter_and_the_line_is_empty_again(
    started: Started, key: str, size: tuple[int, int]
) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=size) as pilot:
        await pilot.press(key, *WORDS, "enter")
        await settled(pilot)
        assert run.told == [Say(text=WORDS)]
        assert words(pilot.app) == ""
        assert isinstance(pilot.app.focused, SayInput)
        assert "words for the model's next prompt" in screen_text(pilot.app)


async def test_what_is_told_appears_in_the_chat_when_the_session_has_it_and_not_before(started: Started) -> None:
    gate = asyncio.Event()
    evil = f"{WORDS}\x1b[2J[/x]"
    run = ScriptedRun([*scripted.opening(), gate, events.UserSaid(text=evil)], stays=True)
    async with started(run) as pilot:
        await pilot.press("c", *WORDS, "enter")
        await settled(pilot)
        assert "16 bytes" not in screen_text(pilot.app)
        gate.set()
        await settled(pilot)
        assert "you> load 16 bytes [b]at once[/x]" in screen_text(pilot.app)


async def test_nothing_is_told_by_an_empty_line(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c", "enter", "space", "enter")
        await settled(pilot)
        assert run.told == []


@pytest.mark.parametrize("pane", ["1", "2", "3", "4"])
async def test_esc_keeps_the_words_and_goes_back_to_the_pane(started: Started, pane: str) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=(80, 24)) as pilot:
        await pilot.press(pane, "c", *"half", "escape")
        await settled(pilot)
        assert focused_pane(pilot.app) == int(pane)
        assert not isinstance(pilot.app.focused, Input)
        assert words(pilot.app) == "half"
        await pilot.press("c", *" done", "enter")
        await settled(pilot)
        assert run.told == [Say(text="half done")]


@SIZES
async def test_words_typed_before_a_rejection_are_no_reason_and_stay(started: Started, size: tuple[int, int]) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, size=size) as pilot:
        await pilot.press("c", *"for later", "escape", "r", "enter")
        await settled(pilot)
        assert run.decisions == [Decision(action="reject", message="")]
        assert run.told == []
        assert words(pilot.app) == "for later"


async def test_enter_after_words_tells_them_also_while_a_step_awaits(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c", *"r no", "enter")
        await settled(pilot)
        assert run.told == [Say(text="r no")]
        assert run.decisions == []


async def test_a_question_that_appears_while_words_are_typed_does_not_turn_them_into_a_reason(started: Started) -> None:
    gate = asyncio.Event()
    run = ScriptedRun([*scripted.opening(), gate, scripted.PROPOSAL], stays=True)
    async with started(run) as pilot:
        await pilot.press("c", *"try")
        gate.set()
        await settled(pilot)
        assert "step 2 awaits you" in screen_text(pilot.app)
        await pilot.press(*" B", "enter")
        await settled(pilot)
        assert run.told == [Say(text="try B")]
        assert run.decisions == []


@SIZES
async def test_the_two_lines_have_their_own_signs_and_only_one_is_visible(
    started: Started, size: tuple[int, int]
) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, size=size) as pilot:
        await pilot.press("c", *"mine")
        await settled(pilot)
        assert "you> mine" in screen_text(pilot.app)
        assert "reject>" not in screen_text(pilot.app)
        await pilot.press("f5")
        await settled(pilot)
        assert isinstance(pilot.app.focused, ReasonInput)
        assert "reject> Enter rejects, Esc leaves" in screen_text(pilot.app)
        assert "you> mine" not in screen_text(pilot.app)
        await pilot.press(*"slow", "escape")
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        assert "you> mine" in screen_text(pilot.app)
        assert "reject>" not in screen_text(pilot.app)
        assert (run.decisions, run.told) == ([], [])


async def test_the_key_for_words_turns_a_rejection_back_into_words(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("r", *"slow", "ctrl+t", *"hm", "enter")
        await settled(pilot)
        assert run.told == [Say(text="hm")]
        assert run.decisions == []


async def test_a_reason_is_forgotten_with_its_question(started: Started) -> None:
    run = ScriptedRun([*scripted.opening(), *[scripted.PROPOSAL] * 2], stays=True)
    async with started(run) as pilot:
        await pilot.press("r", *"slow", "f2")
        await settled(pilot)
        await pilot.press("r", "enter")
        await settled(pilot)
        assert run.decisions == [Decision(action="approve"), Decision(action="reject", message="")]


async def test_the_line_can_be_clicked_and_left_again(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.click("#say")
        await pilot.press(*"hi", "enter", "escape")
        await settled(pilot)
        assert run.told == [Say(text="hi")]
        assert focused_pane(pilot.app) == 4
        assert not isinstance(pilot.app.focused, Input)


async def test_a_replay_keeps_the_words_and_says_that_it_cannot_be_changed(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True, is_replay=True)
    async with started(run) as pilot:
        await pilot.press("c", *"hi", "enter")
        await settled(pilot)
        assert notices(pilot.app) == ["This is a replay: it cannot be changed."]
        assert words(pilot.app) == "hi"
