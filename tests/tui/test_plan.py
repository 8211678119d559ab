"""What the plan shows: states, order, the selected step, held tunables, and any words harmlessly."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Input, TextArea

from tests.tui import plans, scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import notices, screen_text, selected_step, steps_shown
from tests.tui.plans import planned
from tests.tui.scripted import ScriptedRun
from tui_tuner.session import events
from tui_tuner.strategies.steps import Step, StepState

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])


@pytest.mark.slow
async def test_all_states_are_told_apart_without_colour(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with started(ScriptedRun(plans.whole_plan(), stays=True), size=(120, 60)) as pilot:
        text = screen_text(pilot.app)
        for part in (
            "●  1 Measure", "✓  2 Tile", "=  3 Vectorised", "✗  4 Double", "–  5 Profile",  # noqa: RUF001  # a mark
            "┬  6 Restructure", "○  9 Unroll", "› 10 Interchange", "◇  7 Launch",  # noqa: RUF001  # a mark
            "· 11 you> Load B", "·  8 Persistent", "1.62x [1.60,1.64]", "0.97x [0.95,0.99]", "slower: the second",
            "no tuning step", "broken down", "validated",
        ):  # fmt: skip
            assert part in text


@pytest.mark.slow
async def test_the_list_follows_the_order_of_the_plan_and_keeps_the_selected_step(started: Started) -> None:
    gate = asyncio.Event()
    run = planned(gate, events.PlanOrdered(order=[1, 4, 3, 2]))
    async with started(run) as pilot:
        await pilot.press("2", "down")
        assert selected_step(pilot.app) == 2
        gate.set()
        await settled(pilot)
        assert steps_shown(pilot.app) == [1, 4, 3, 2]
        assert selected_step(pilot.app) == 2


@pytest.mark.slow
async def test_of_steps_that_come_all_at_once_the_last_that_was_carried_out_is_selected(started: Started) -> None:
    accepted, rejected, skipped = (
        scripted.step(number, state)
        for number, state in ((1, StepState.ACCEPTED), (2, StepState.REJECTED), (3, StepState.SKIPPED))
    )
    async with started(ScriptedRun([*scripted.opening(), accepted, rejected, skipped], stays=True)) as pilot:
        assert selected_step(pilot.app) == 2


@pytest.mark.slow
async def test_a_step_that_begins_is_selected_unless_the_user_is_at_work_on_another(started: Started) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    run = planned(
        gates[0], scripted.step(2, StepState.RUNNING), gates[1], scripted.step(3, StepState.RUNNING)
    )  # fmt: skip
    async with started(run) as pilot:
        await pilot.press("2")
        gates[0].set()
        await settled(pilot)
        assert selected_step(pilot.app) == 2
        await pilot.press("end")
        gates[1].set()
        await settled(pilot)
        assert selected_step(pilot.app) == 4


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
async def test_the_step_that_runs_is_in_view_also_in_a_long_plan(started: Started, size: tuple[int, int]) -> None:
    async with started(ScriptedRun(plans.whole_plan(), stays=True), size=size) as pilot:
        await pilot.press("2")
        await settled(pilot)
        assert selected_step(pilot.app) == 10
        assert "› 10 Interchange the loops" in screen_text(pilot.app)  # noqa: RUF001  # a mark


@pytest.mark.slow
async def test_the_held_line_is_there_only_while_something_is_held(started: Started) -> None:
    gate = asyncio.Event()
    script = [*plans.whole_plan(), gate, events.ParametersFrozen(frozen={})]
    async with started(ScriptedRun(script, stays=True)) as pilot:
        await pilot.press("2")
        await settled(pilot)
        assert "held: block_size_x=256" in screen_text(pilot.app)
        assert "t thaws" in screen_text(pilot.app)
        gate.set()
        await settled(pilot)
        assert "held:" not in screen_text(pilot.app)
        await pilot.press("t")
        await settled(pilot)
        assert notices(pilot.app) == ["No tunable is held: all of them are searched."]


EVIL = "a[i] = [/x] \x1b]52;c;eA==\x07\x9b2J\u202e 共有メモリ " + "long " * 30


@pytest.mark.slow
@SIZES
async def test_words_of_a_step_are_shown_harmlessly_in_plan_dialog_and_notice(
    started: Started, size: tuple[int, int]
) -> None:
    step = Step(id=1, title=EVIL, detail=EVIL, by_user=True)
    script = [*scripted.opening(), events.StepChanged(step=step), events.ParametersFrozen(frozen={"b[/x]": "[red]"})]
    async with started(ScriptedRun(script, stays=True), size=size) as pilot:
        for keys in (["2"], ["enter"], ["escape", "t"]):
            await pilot.press(*keys)
            await settled(pilot)
            text = screen_text(pilot.app)
            assert "[red]" in text or "a[i] = [/x]" in text
            assert text.replace("\n", "").isprintable()
        await pilot.press("escape", "enter")
        await settled(pilot)
        assert "\x1b" not in pilot.app.screen.query_one(Input).value
        assert "\x1b" not in pilot.app.screen.query_one(TextArea).text


@pytest.mark.slow
async def test_the_list_shows_the_same_part_of_a_plan_that_arrives_at_once_or_in_two_parts(started: Started) -> None:
    whole = plans.whole_plan()
    async with started(ScriptedRun(whole, stays=True)) as pilot:
        at_once = screen_text(pilot.app)
    for place in (3, 8, 12, 13, 14, 15, 16):
        gate = asyncio.Event()
        async with started(ScriptedRun([*whole[:place], gate, *whole[place:]], stays=True)) as pilot:
            gate.set()
            await settled(pilot)
            assert screen_text(pilot.app) == at_once, f"in two parts after event {place}"
