"""Keys that hold, end and switch a session, and what it is told of them."""

from __future__ import annotations

import asyncio
import re

import pytest
from textual.widgets import Input, Static

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
from tui_tuner.tui.status import way_on

CHANGED = [
    events.PauseChanged(paused=True),
    events.BudgetChanged(max_evaluations=200, max_calls=150, max_seconds=5400.0, max_cost=5.0),
    events.ModelChanged(model="ollama:other"),
    events.StrategyChanged(strategy="search"),
    events.ApprovalLevelChanged(level=ApprovalLevel.ACCEPT),
]


@pytest.mark.slow
async def test_the_same_key_pauses_and_goes_on_and_the_last_lines_say_so(started: Started) -> None:
    goes_on = asyncio.Event()
    held = [events.PauseChanged(paused=True), goes_on, events.PauseChanged(paused=False)]
    run = ScriptedRun([*scripted.running(), *held], stays=True)
    async with started(run) as pilot:
        await settled(pilot)
        assert " paused · " in screen_text(pilot.app)
        assert "p go on" in screen_text(pilot.app)
        await pilot.press("p")
        await settled(pilot)
        assert run.told == [GoOn()]
        goes_on.set()
        await settled(pilot)
        assert "p pause" in screen_text(pilot.app)


@pytest.mark.slow
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


@pytest.mark.slow
async def test_who_approves_all_is_told_so_and_is_asked_again_by_choosing_what_about(started: Started) -> None:
    run = ScriptedRun([*scripted.opening(), *[scripted.PROPOSAL] * 2], stays=True)
    async with started(run, size=(80, 24)) as pilot:
        pilot.app._desk.approves_all = True
        await pilot.press("m")
        await settled(pilot)
        assert "The session, which now asks you about nothing" in screen_text(pilot.app)
        assert "ask me about plans, steps and kernels" in screen_text(pilot.app)
        await pilot.press("G", "enter")
        await settled(pilot)
        assert run.told == [AskAbout(level=ApprovalLevel.ACCEPT)]
        assert not pilot.app._desk.approves_all


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "wrong", "told", "right", "made"),
    [
        ("another model", "quux", "there is no model provider 'quux'", "ollama", UseModel(name="ollama")),
        ("another model", "foo:bar", "openrouter[:MODEL]", "ollama:b", UseModel(name="ollama:b")),
        ("another strategy", "foo", "unknown strategy 'foo'", "search", UseStrategy(name="search")),
        ("another strategy", "none.py:Mine", "there is no such file", "search", UseStrategy(name="search")),
        ("raise the budget", "evals 80", "evals: 80 is in force", "evals 86", RaiseBudget(max_evaluations=86)),
    ],
)
async def test_what_would_come_to_nothing_is_refused_where_it_is_typed(
    started: Started, choice: str, wrong: str, told: str, right: str, made: Instruction
) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("m")
        dialog = pilot.app.screen
        index = next(n for n, each in enumerate(dialog._choices) if each.words.startswith(choice))  # type: ignore[attr-defined]
        await pilot.press(*"j" * index, "enter", *wrong, "enter")
        await settled(pilot)
        assert pilot.app.screen is dialog
        assert told in " ".join(str(dialog.query_one("#control-fault", Static).render()).split())
        assert run.told == []
        await pilot.press("shift+tab", "enter")
        assert not dialog.query_one("#control-fault").display, "it was about what was typed"
        dialog.query_one(Input).value = right
        await pilot.press("enter")
        await settled(pilot)
        assert run.told == [made]


def test_every_control_can_be_chosen_and_told_as_json() -> None:
    typed = {"raise the budget": "evals 90 calls 150", "another model": "ollama", "another strategy": "search"}
    made = [
        each.made(next((words for start, words in typed.items() if each.words.startswith(start)), ""))
        for each in choices(view_model_of(scripted.running()), plans=True)
    ]
    expected: list[Instruction] = [
        Pause(), SkipStep(), Stop(), RaiseBudget(max_evaluations=90, max_calls=150), UseModel(name="ollama"),
        UseStrategy(name="search"),
        *(AskAbout(level=level) for level in ApprovalLevel if level is not ApprovalLevel.KERNEL),
    ]  # fmt: skip
    assert made == expected
    assert [INSTRUCTION.validate_json(each.model_dump_json()) for each in made] == expected


IN_FORCE = {"max_evaluations": 100, "max_calls": 20, "max_seconds": 5400.0, "max_cost": None}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        *((words, "write a limit and a number: evals, calls, time, cost") for words in ("", "evals", "speed 3", "200")),
        ("evals many", "evals: 'many' is no limit; as in: evals 200"),
        ("evals 0", "evals: '0' is no limit; as in: evals 200"),
        ("evals 1.5", "evals: '1.5' is no limit; as in: evals 200"),
        ("time soon", "time: 'soon' is no limit; as in: time 30m"),
        ("cost nan", "cost: 'nan' is no limit; as in: cost 5"),
        ("evals 10", "evals: 100 is in force, and a limit can only be raised"),
        ("calls 30 time 90m", "time: 1h30m is in force, and a limit can only be raised"),
        ("cost 5", "cost: there is no limit that could be raised"),
    ],
)
def test_a_budget_that_is_none_or_changes_nothing_is_refused_in_words(words: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}$"):
        raised_budget(words, IN_FORCE)


def test_several_limits_are_raised_at_once() -> None:
    assert raised_budget("evals=200 calls 21 time 2h", IN_FORCE) == RaiseBudget(
        max_evaluations=200, max_calls=21, max_seconds=7200.0
    )
    assert raised_budget("time 90s cost 0.5", {}) == RaiseBudget(max_seconds=90.0, max_cost=0.5)


@pytest.mark.parametrize(
    ("reason", "way"),
    [("stopped by hand", ("go on", "tuner-tui resume run")), ("done", ("see it again", "tuner-tui replay run"))],
)
def test_the_result_of_a_session_that_was_stopped_names_what_goes_on_with_it(reason: str, way: tuple[str, str]) -> None:
    started = next(event for event in scripted.running() if isinstance(event, events.SessionStarted))
    finished = events.SessionFinished(status="no_improvement", reason=reason, evaluations=3, model_calls=0)
    assert way_on(finished, started.model_copy(update={"run": "run"})) == way


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
