"""Where the plan's keys act, and the other ways to the same: mouse, palette, keymap."""

from __future__ import annotations

import pytest

from tests.tui import plans, scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import faint, focused_pane, screen_text, selected_step
from tests.tui.plans import planned, to_come
from tests.tui.scripted import ScriptedRun
from tui_tuner.session.plan import DeleteStep, EditStep, Thaw
from tui_tuner.strategies.steps import Decision
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.dialogs import ThawDialog

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])


@pytest.mark.slow
async def test_the_keys_of_the_plan_do_nothing_in_another_pane_and_are_not_offered_there(started: Started) -> None:
    run = planned()
    async with started(run, size=(160, 40)) as pilot:
        await pilot.press("2", "end", "1", "x", "n", "t", "K", "enter", "f6")
        await settled(pilot)
        assert run.told == []
        assert pilot.app.screen is pilot.app.session_screen
        assert "x delete" not in screen_text(pilot.app)
        await pilot.press("2")
        await settled(pilot)
        assert "n add  ⏎ open step  K up  J down  x delete  c ask" in screen_text(pilot.app)
        await pilot.press("home")
        await settled(pilot)
        assert "n add  ⏎ open step  c ask" in screen_text(pilot.app)


@pytest.mark.slow
async def test_a_plan_without_a_step_says_so_and_offers_no_key_that_needs_one(started: Started) -> None:
    async with started(ScriptedRun(scripted.opening()[:1], stays=True)) as pilot:
        await pilot.press("2")
        await settled(pilot)
        lines = screen_text(pilot.app).splitlines()
        assert "│ no step yet: what is tried stands here," in lines[2]
        assert "n add  c ask" in lines[-1]


@pytest.mark.slow
@SIZES
async def test_approval_keys_act_while_the_plan_has_the_focus(started: Started, size: tuple[int, int]) -> None:
    run = ScriptedRun([*scripted.opening(), *to_come(1, 2), *[scripted.PROPOSAL] * 3], stays=True)
    async with started(run, size=size) as pilot:
        await pilot.press("2", "a")
        await settled(pilot)
        await pilot.press("s")
        await settled(pilot)
        await pilot.press("r", *"no", "enter")
        await settled(pilot)
        assert run.decisions == [
            Decision(action="approve"), Decision(action="skip"), Decision(action="reject", message="no"),
        ]  # fmt: skip
        assert run.told == []
        assert focused_pane(pilot.app) == 2


@pytest.mark.slow
async def test_plan_and_held_line_work_by_mouse(started: Started) -> None:
    run = ScriptedRun(plans.whole_plan(), stays=True)
    async with started(run) as pilot:
        lines = screen_text(pilot.app).split("\n")
        y = next(number for number, line in enumerate(lines) if "held:" in line)
        await pilot.click(offset=(lines[y].index("thaw"), y))
        await settled(pilot)
        assert isinstance(pilot.app.screen, ThawDialog)
        await pilot.click("Menu", offset=(3, 2))
        await settled(pilot)
        assert run.told == [Thaw(name="use_padding")]
        await pilot.press("2", "end")
        await settled(pilot)
        last = screen_text(pilot.app).split("\n")[-1]
        await pilot.click(offset=(last.index("x delete"), 35))
        await settled(pilot)
        assert run.told[1:] == [DeleteStep(step=8)]


@pytest.mark.slow
async def test_a_click_selects_a_step_and_the_dialog_is_saved_by_a_click(started: Started) -> None:
    run = planned()
    async with started(run) as pilot:
        await pilot.click("#steps", offset=(6, 2))
        await settled(pilot)
        assert pilot.app.screen is pilot.app.session_screen
        assert selected_step(pilot.app) == 3
        await pilot.press("enter")
        await settled(pilot)
        lines = screen_text(pilot.app).split("\n")
        y = next(number for number, line in enumerate(lines) if "^s save" in line)
        await pilot.click(offset=(lines[y].index("save"), y))
        await settled(pilot)
        assert run.told == [EditStep(step=3, title=scripted.STEPS[2].title, detail=scripted.STEPS[2].detail)]


@pytest.mark.slow
async def test_the_palette_lists_the_keys_of_the_plan_once_each_while_it_is_active(started: Started) -> None:
    async with started(planned()) as pilot:
        assert not any(command.title.startswith("Plan:") for command in commands(pilot.app))
        await pilot.press("2", "end")
        await settled(pilot)
        titles = [command.title for command in commands(pilot.app)]
        wanted = {
            "Plan: add",
            "Plan: open step",
            "Plan: up",
            "Plan: down",
            "Plan: delete",
            "Plan: thaw",
            "Chat: ask",
            "Kernel: view",
        }
        assert wanted <= set(titles)
        assert len(titles) == len(set(titles))
        delete = next(command for command in commands(pilot.app) if command.title == "Plan: delete")
        assert delete.help.startswith("x: ")
        await delete.callback()
        await settled(pilot)
        assert pilot.app._run_shown.told == [DeleteStep(step=4)]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["tuner-light", "solarized-light", "nord"])
async def test_the_palettes_of_commands_and_themes_and_their_keys_can_be_read(started: Started, theme: str) -> None:
    async with started(planned(), theme=theme) as pilot:
        helps = {command.help for command in commands(pilot.app)}
        for openings, told in ((["ctrl+p"], helps), (["ctrl+p", *"theme", "enter"], {"nord"})):
            await pilot.press(*openings)
            await settled(pilot)
            assert any(words in screen_text(pilot.app) for words in told)
            assert screen_text(pilot.app).splitlines()[-1].split()[0] == "esc"
            assert faint(pilot.app, from_line=-1) == []
            assert not told & {words.strip() for words in faint(pilot.app)}
            await pilot.press("escape")
            await settled(pilot)
            assert pilot.app.screen is pilot.app.screen_stack[0]


def commands(app: TunerApp) -> list[object]:
    return list(app.get_system_commands(app.screen))


@pytest.mark.slow
async def test_a_keymap_moves_a_key_of_the_plan(started: Started) -> None:
    run = planned()
    async with started(run, keymap={"delete_step": "z"}) as pilot:
        await pilot.press("2", "end", "x", "delete")
        await settled(pilot)
        assert run.told == []
        await pilot.press("z")
        await settled(pilot)
        assert run.told == [DeleteStep(step=4)]
