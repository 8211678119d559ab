"""The screen as a whole: sizes, tabs, help, leaving, and the end."""

from __future__ import annotations

import asyncio

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text, table_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.session.controls import Pause
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.dialogs import Dialog, QuitDialog
from tui_tuner.tui.keys import APP_BINDINGS, SCREEN_BINDINGS
from tui_tuner.tui.panes import Pane, PaneGrid
from tui_tuner.tui.panes.chat_pane import SayInput
from tui_tuner.tui.panes.kernel_pane import KernelPane
from tui_tuner.tui.player import Player


@pytest.mark.slow
async def test_narrow_screens_show_one_pane_and_keep_the_focus_over_a_resize(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("3")
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        shown = [pane.number for pane in pilot.app.screen.query(Pane) if pane.display]
        assert shown == [3]
        assert focused_pane(pilot.app) == 3
        await pilot.press("alt+4")
        assert focused_pane(pilot.app) == 4
        await pilot.resize_terminal(120, 36)
        await settled(pilot)
        assert all(pane.display for pane in pilot.app.screen.query(Pane))
        assert focused_pane(pilot.app) == 4


@pytest.mark.slow
async def test_alt_acts_while_somebody_types_also_where_it_is_sent_as_esc_and_the_character(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c", "w")
        for event in XTermParser().feed("\x1bp"):
            pilot.app.post_message(event)
        await settled(pilot)
        assert run.told == [Pause()]
        for event in XTermParser().feed("\x1b2"):
            pilot.app.post_message(event)
        await settled(pilot)
        assert focused_pane(pilot.app) == 2
        assert pilot.app.screen.query_one(SayInput).value == "w"
        keys = [event.key for event in XTermParser().feed("\x1b=\x1bY\x1bb\x1b[A") if isinstance(event, Key)]
        assert keys == ["alt+equals_sign", "alt+shift+y", "ctrl+left", "up"]


@pytest.mark.slow
async def test_nothing_lies_outside_the_terminal_at_any_size(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        for width, height in [(60, 20), (80, 24), (100, 30), (120, 36), (200, 50)]:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            for widget in [*pilot.app.screen.children, *pilot.app.screen.query(Pane)]:
                assert widget.region.right <= width
                assert widget.region.bottom <= height
            last = screen_text(pilot.app).splitlines()[-1]
            assert ("A all" if width < 80 else "A approve all") in last
            assert last.rstrip().endswith("? help  q quit")


@pytest.mark.slow
async def test_one_pane_can_be_maximised_and_given_back(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("2", "f")
        await settled(pilot)
        assert [pane.number for pane in pilot.app.screen.query(Pane) if pane.display] == [2]
        await pilot.press("escape")
        await settled(pilot)
        assert all(pane.display for pane in pilot.app.screen.query(Pane))


@pytest.mark.slow
async def test_a_narrow_terminal_that_is_tall_shows_the_kernel_and_the_last_other_pane(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(80, 32)) as pilot:

        def shown() -> list[int]:
            return [pane.number for pane in pilot.app.screen.query(Pane) if pane.display]

        assert shown() == [1, 2]
        for key, panes in (("3", [1, 3]), ("1", [1, 3]), ("4", [1, 4]), ("f", [4]), ("escape", [1, 4])):
            await pilot.press(key)
            await settled(pilot)
            assert shown() == panes
        await pilot.resize_terminal(80, 31)
        await settled(pilot)
        assert shown() == [4]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (90, 40), (120, 36)])
async def test_a_question_without_a_kernel_to_review_shifts_no_pane(started: Started, size: tuple[int, int]) -> None:
    asks = asyncio.Event()
    script = [*scripted.running(), asks, scripted.PROPOSAL.model_copy(update={"candidate": None})]
    async with started(ScriptedRun(script, stays=True), size=size) as pilot:
        before = [pane.region for pane in pilot.app.screen.query(Pane)]
        asks.set()
        await settled(pilot)
        assert "step 2 awaits you" in screen_text(pilot.app)
        assert [pane.region for pane in pilot.app.screen.query(Pane)] == before


@pytest.mark.slow
async def test_behind_a_dialog_the_status_line_goes_on_and_the_panes_are_drawn_when_it_is_closed(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrives = asyncio.Event()
    script = [*scripted.running(), arrives, *scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.09))]
    async with started(ScriptedRun(script, stays=True)) as pilot:
        drawn: list[object] = []
        draw = PaneGrid.draw
        monkeypatch.setattr(PaneGrid, "draw", lambda *arguments: (drawn.append(1), draw(*arguments)))
        await pilot.press("q")
        assert "eval 31/80" in screen_text(pilot.app)
        arrives.set()
        await settled(pilot)
        assert "eval 32/80" in screen_text(pilot.app)
        assert 40 in pilot.app.session_screen.view_model.rows
        assert drawn == []
        await pilot.press("escape")
        await settled(pilot)
        assert table_text(pilot.app)[0].startswith("40 ")


@pytest.mark.slow
async def test_tabs_mark_the_plan_while_a_step_awaits_and_can_be_clicked(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), size=(80, 24)) as pilot:
        line = screen_text(pilot.app).split("\n")[1]
        assert "2 Plan ○" in line
        await pilot.click("#tabs", offset=(line.index("2 Plan"), 0))
        await settled(pilot)
        assert isinstance(pilot.app.focused, OptionList)


@pytest.mark.slow
async def test_views_and_keys_can_be_clicked(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        pane = pilot.app.screen.query_one(KernelPane)
        lines = screen_text(pilot.app).split("\n")
        await pilot.click(offset=(lines[pane.region.y].index("best"), pane.region.y))
        await pilot.pause()
        assert pane.view == "best"
        await pilot.click(offset=(lines[-1].index("o sort"), len(lines) - 1))
        await pilot.pause()
        assert table_text(pilot.app)[0].startswith("★30 ")


@pytest.mark.slow
async def test_leaving_asks_and_names_the_command_that_resumes(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("q")
        await settled(pilot)
        assert isinstance(pilot.app.screen, QuitDialog)
        assert "tuner-tui resume matmul-20261120-1432" in screen_text(pilot.app)
        await pilot.press("escape")
        await settled(pilot)
        assert not run.closed
        await pilot.press("ctrl+c", "l")
        await pilot.pause()
        assert run.closed
        assert pilot.app.return_value == "interrupted"


@pytest.mark.slow
async def test_a_second_ctrl_c_leaves_also_while_a_step_awaits(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("r", "ctrl+c")
        await settled(pilot)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert run.closed
        assert run.decisions == []


@pytest.mark.slow
async def test_a_finished_session_shows_its_result_and_is_left_at_once(started: Started) -> None:
    async with started(ScriptedRun(scripted.finished())) as pilot:
        text = screen_text(pilot.app)
        for part in ("1.83x [1.80,1.86]", "result.json", "best.cu", "tuner-tui replay matmul-20261120-1432"):
            assert part in text
        await pilot.press("escape", "q")
        await pilot.pause()
        assert pilot.app.return_value == "finished"


def test_run_returns_the_status_and_raises_what_broke_the_session() -> None:
    class Broken(ScriptedRun):
        async def events(self, approver: object) -> object:  # type: ignore[override]
            yield scripted.opening()[0]
            raise ConnectionError("runner lost")

    app = TunerApp(Broken([]))
    with pytest.raises(ConnectionError, match="runner lost"):
        app.run(headless=True, size=(80, 24))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_help_stands_in_the_place_of_the_panes_and_the_question_stays(
    started: Started, size: tuple[int, int]
) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, size=size, keymap={"skip": "z"}) as pilot:
        for opens, closes in (("question_mark", "f1"), ("f1", "escape"), ("question_mark", "q")):
            await pilot.press("2", opens)
            await settled(pilot)
            text = screen_text(pilot.app)
            lines = text.split("\n")
            first = next(number for number, line in enumerate(lines) if "A step that awaits you" in line)
            assert first < size[1] // 4
            assert "a f2            Let the step that awaits you be built" in text
            assert "z               Leave this step out" in text
            assert "step 2 awaits you" in text
            assert not any(pane.display and pane.region for pane in pilot.app.screen.query(Pane))
            await pilot.press("d", "x", "n", closes)
            await settled(pilot)
            assert "A step that awaits you" not in screen_text(pilot.app)
            assert focused_pane(pilot.app) == 2
            assert pilot.app.screen is pilot.app.session_screen
        await pilot.press("question_mark", "a")
        await settled(pilot)
        assert [decision.action for decision in run.decisions] == ["approve"]


@pytest.mark.slow
async def test_help_begins_with_the_focused_pane_and_names_every_key(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(100, 160)) as pilot:
        for number, title in enumerate(("Kernel", "Plan", "Benchmarks", "Chat"), 1):
            await pilot.press(str(number), "question_mark")
            await settled(pilot)
            text = screen_text(pilot.app)
            assert text.split("\n")[2].strip("│ ") == title
            for binding in [*APP_BINDINGS, *SCREEN_BINDINGS]:
                assert " ".join(binding.tooltip.split()[:4]) in text, title
            await pilot.press(str(5 - number))
            await settled(pilot)
            assert focused_pane(pilot.app) == 5 - number


@pytest.mark.slow
async def test_ctrl_c_copies_what_is_selected_and_leaves_where_nothing_is(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("shift+down", "ctrl+c")
        await settled(pilot)
        assert pilot.app.clipboard == scripted.NAIVE.splitlines()[0] + "\n"
        assert notices(pilot.app) == ["copied 1 line through the terminal (OSC 52)"]
        await pilot.press("ctrl+c")
        await settled(pilot)
        assert isinstance(pilot.app.screen, QuitDialog)


@pytest.mark.slow
async def test_a_slash_in_another_pane_leaves_the_table_alone(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        for pane in ("1", "2", "4"):
            await pilot.press(pane, "slash", *"w", "escape")
            await settled(pilot)
            assert len(table_text(pilot.app)) == 32
            assert focused_pane(pilot.app) == int(pane)


@pytest.mark.slow
async def test_the_app_is_readable_without_colour(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        await pilot.press("escape")
        await settled(pilot)
        text = screen_text(pilot.app)
        for part in ("✓  1 Tile", "○  2 Vectorised", "awaiting you", "9 + ", "9 - ", "★30", "[diff]"):
            assert part in text


@pytest.mark.slow
async def test_the_last_line_has_the_keys_of_the_dialog_that_is_open(started: Started) -> None:
    def last_line(pilot: Pilot[str]) -> str:
        return screen_text(pilot.app).splitlines()[-1].strip()

    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        panes = last_line(pilot)
        await pilot.press("3", "j", "enter")
        await settled(pilot)
        assert "d next view" in last_line(pilot)
        assert "pause" not in last_line(pilot)
        await pilot.press("escape", "1", "m")
        await settled(pilot)
        assert last_line(pilot) == "⏎ choose  esc leave"
        await pilot.press("escape", "q")
        await settled(pilot)
        assert last_line(pilot) == "l leave  esc stay"
        await pilot.press("escape")
        await settled(pilot)
        assert last_line(pilot) == panes


@pytest.mark.slow
async def test_the_last_line_calls_a_key_what_its_dialog_does_and_can_be_clicked(started: Started) -> None:
    opened: dict[tuple[str, ...], str] = {
        ("3", "j", "j", "enter"): "d next view  y copy  p a step from here  esc close",
        ("m",): "⏎ choose  esc leave",
        ("2", "G", "n"): "^s save  esc leave",
        ("1", "e"): "^s approve  esc leave",
    }
    async with started(ScriptedRun(scripted.awaiting(), stays=True), size=(110, 60)) as pilot:
        for keys, named in opened.items():
            await pilot.press(*keys)
            await settled(pilot)
            dialog = pilot.app.screen
            assert isinstance(dialog, Dialog)
            line = screen_text(pilot.app).splitlines()[-1]
            assert line.strip() == named
            await pilot.click(offset=(line.index("esc") + len("esc "), 59))
            await settled(pilot)
            assert pilot.app.screen is not dialog, keys


@pytest.mark.slow
async def test_the_keys_of_the_control_dialog_are_in_sight_on_a_small_terminal(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(60, 20)) as pilot:
        await pilot.press("m")
        await settled(pilot)
        assert screen_text(pilot.app).splitlines()[-1].strip() == "⏎ choose  esc leave"


@pytest.mark.slow
async def test_the_way_out_of_a_dialog_is_in_the_last_line_of_forty_columns(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(40, 10)) as pilot:
        await pilot.press("3", "j", "enter")
        await settled(pilot)
        assert "esc close" in screen_text(pilot.app).splitlines()[-1]


@pytest.mark.slow
async def test_all_tabs_and_answers_fit_into_forty_columns(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), size=(40, 20)) as pilot:
        lines = screen_text(pilot.app).splitlines()
        assert lines[1].strip() == "[1 Kernel] 2 Plan○ 3 Benchmarks 4 Chat"
        assert lines[-1].strip() == "a approve e edit s skip r reject A all"
        await pilot.click("#tabs", offset=(lines[1].index("4 Chat"), 0))
        await settled(pilot)
        assert focused_pane(pilot.app) == 4
        await pilot.resize_terminal(30, 20)
        await settled(pilot)
        assert screen_text(pilot.app).splitlines()[1].strip() == "1 2○ 3 [4 Chat]"


@pytest.mark.slow
async def test_a_replay_offers_nothing_that_only_a_session_can_do(started: Started) -> None:
    async with started(Player(ScriptedRun(scripted.running()))) as pilot:
        line = screen_text(pilot.app).splitlines()[-1]
        assert "space play" in line
        assert not [words for words in ("pause", "control", "ask") if words in line]


@pytest.mark.slow
async def test_the_commands_of_the_result_stand_on_a_line_each(started: Started) -> None:
    run = "tuner-runs/matmul_tiled-20261120-143200"
    opening, *rest = scripted.finished()
    named = opening.model_copy(update={"run": run, "directory": run})
    for size in ((80, 24), (120, 36)):
        async with started(ScriptedRun([named, *rest]), size=size) as pilot:
            shown = screen_text(pilot.app)
        assert f"tuner-tui best {run} --apply" in shown
        assert f"tuner-tui replay {run}" in shown


@pytest.mark.slow
async def test_no_cursor_blinks_which_would_draw_a_line_anew_twice_a_second(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        entry = pilot.app.screen.query_one(SayInput)
        entry.cursor_blink = True
        await pilot.press("c")
        await settled(pilot)
        assert pilot.app.focused is entry
        assert not entry.cursor_blink
