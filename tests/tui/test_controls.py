"""Keys that hold, end and switch a session, and what it is told of them."""

from __future__ import annotations

import pytest

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import notices, screen_text, view_model_of
from tests.tui.scripted import ScriptedRun
from tui_tuner.session import events
from tui_tuner.session.controls import AskAbout, GoOn, Pause, RaiseBudget, SkipStep, Stop, UseModel, UseStrategy
from tui_tuner.session.plan import INSTRUCTION, Instruction
from tui_tuner.story import KernelStory, Story
from tui_tuner.strategies.steps import ApprovalLevel
from tui_tuner.tui.dialogs.control_dialog import ControlDialog, choices, raised_budget

CHANGED = [
    events.PauseChanged(paused=True),
    events.BudgetChanged(max_evaluations=200, max_calls=150, max_seconds=5400.0, max_cost=5.0),
    events.ModelChanged(model="ollama:other"),
    events.StrategyChanged(strategy="search"),
    events.ApprovalLevelChanged(level=ApprovalLevel.ACCEPT),
]


async def test_the_same_key_pauses_and_goes_on_and_the_status_line_says_so(started: Started) -> None:
    run = ScriptedRun([*scripted.running(), events.PauseChanged(paused=True)], stays=True)
    async with started(run) as pilot:
        await settled(pilot)
        assert " paused · " in screen_text(pilot.app)
        await pilot.press("p")
        await settled(pilot)
        assert run.told == [GoOn()]


async def test_what_is_chosen_in_the_dialog_is_told_and_esc_tells_nothing(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("m", "escape", "m", "j", "enter")
        await settled(pilot)
        assert run.told == [SkipStep()]
        await pilot.press("m", "j", "j", "j", "enter", *"evals", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, ControlDialog)
        assert "write a limit and a number" in screen_text(pilot.app)
        await pilot.press(*" 200", "enter")
        await settled(pilot)
        assert run.told[1:] == [RaiseBudget(max_evaluations=200)]
        assert notices(pilot.app)[-1].startswith("Taken")


def test_every_control_can_be_chosen_and_told_as_json() -> None:
    typed = {"raise the budget": "time 90s cost 5", "another model": "ollama", "another strategy": "search"}
    made = [
        each.made(next((words for start, words in typed.items() if each.words.startswith(start)), ""))
        for each in choices(view_model_of(scripted.running()), plans=True)
    ]
    expected: list[Instruction] = [
        Pause(), SkipStep(), Stop(), RaiseBudget(max_seconds=90.0, max_cost=5.0), UseModel(name="ollama"),
        UseStrategy(name="search"),
        *(AskAbout(level=level) for level in ApprovalLevel if level is not ApprovalLevel.KERNEL),
    ]  # fmt: skip
    assert made == expected
    assert [INSTRUCTION.validate_json(each.model_dump_json()) for each in made] == expected


@pytest.mark.parametrize("words", ["", "evals", "evals many", "time soon", "speed 3", "evals 0", "200"])
def test_a_budget_that_is_none_is_refused_in_words(words: str) -> None:
    with pytest.raises(ValueError, match=r"write|valid|greater"):
        raised_budget(words)


def test_what_was_changed_is_in_the_view_model_and_in_the_story() -> None:
    view_model = view_model_of([*scripted.running(), *CHANGED])
    started = view_model.started
    assert started is not None
    assert (started.model, started.strategy, started.max_evaluations, started.max_cost) == (
        "ollama:other", "search", 200, 5.0,
    )  # fmt: skip
    assert (view_model.paused, view_model.level) == (True, ApprovalLevel.ACCEPT)
    told = [Story(KernelStory()).line(event) for event in CHANGED]
    assert told[1:3] == [
        "the budget from here on: 200 evaluations, 150 calls, 5400 s, 5 $",
        "model from here on: ollama:other",
    ]
    assert all(told)
