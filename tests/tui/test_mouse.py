"""The mouse in every pane: a click goes and selects, the second of two is Enter, the wheel scrolls, a drag selects."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text, selected_step
from tests.tui.scripted import ScriptedRun
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.dialogs.sources import RowDialog
from tui_tuner.tui.start import PICKS, Found, GivenFile, StartWorld
from tui_tuner.tui.start.start_app import StartApp
from tui_tuner.tui.tables.evaluation_table import EvaluationTable

Place = tuple[int, int]


def place_of(app: object, words: str, right: int = 1) -> Place:
    """Some cells behind the beginning of words on the screen."""
    lines = enumerate(screen_text(app).split("\n"))  # type: ignore[arg-type]
    return next((line.index(words) + right, y) for y, line in lines if words in line)


def headings(app: TunerApp) -> str:
    return next(line for line in screen_text(app).split("\n") if "vs best" in line)


async def drag(pilot: Pilot[str], start: Place, end: Place) -> None:
    await pilot.mouse_down(offset=start)
    for place in (((start[0] + end[0]) // 2, end[1]), end):
        await pilot.hover(offset=place)
    await pilot.mouse_up(offset=end)


async def wheel(pilot: Pilot[str], place: Place, kind: type) -> str:
    """What is shown after three notches."""
    for _ in range(3):
        await pilot._post_mouse_events([kind], offset=place, widget=None)
    await settled(pilot)
    return screen_text(pilot.app)


@pytest.mark.slow
async def test_every_part_of_every_pane_is_for_the_mouse(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        app = pilot.app
        assert isinstance(app, TunerApp)
        await pilot.press("v")
        await settled(pilot)
        table = app.session_screen.query_one(EvaluationTable)
        for words, pane in (("best so far", 3), ("1 Kernel", 1), ("4 Chat", 4), ("Load A as float4", 2), ("28  32", 3)):
            await pilot.click(offset=place_of(app, words))
            await settled(pilot)
            assert focused_pane(app) == pane, words
        assert table.selected_key == "28"
        await pilot.click(offset=place_of(app, "28  32"))
        await settled(pilot)
        assert app.screen is app.session_screen, "a single click opens nothing, on the selected row neither"

        for words in ("1 Kernel", "3 Benchmarks"):
            x, y = place_of(app, words)
            before = screen_text(app)
            assert await wheel(pilot, (x + 4, y + 8), MouseScrollDown) != before
            await wheel(pilot, (x + 4, y + 8), MouseScrollUp)

        x, y = place_of(app, "27  16")
        await pilot.click(table, offset=(x - table.region.x, y - table.region.y), times=2)
        await settled(pilot)
        assert isinstance(app.screen, RowDialog)
        assert app.session_screen.selections == {}, "two clicks are Enter, and select no text"
        await pilot.click(offset=place_of(app, "esc close"))
        await settled(pilot)
        for heading, order in (
            ("vs best", "fastest"),
            ("vs best", "fastest ↑"),
            (" bsy ", "block_size_y"),
            ("regs", "registers"),
        ):
            await pilot.click(offset=place_of(app, heading, 2))
            await settled(pilot)
            assert f"[{order}]" in screen_text(app)
            assert headings(app).count("▾") + headings(app).count("▴") == 1


@pytest.mark.slow
async def test_a_double_click_on_a_step_edits_it(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        app = pilot.app
        await pilot.press("v", "2")
        await settled(pilot)
        await pilot.click(offset=place_of(app, "Double buffering"))
        await settled(pilot)
        assert (selected_step(app), len(app.screen_stack)) == (3, 1)  # type: ignore[arg-type]
        await pilot.click(offset=place_of(app, "Unroll the inner"), times=2)
        await settled(pilot)
        assert "Step 4" in screen_text(app)


DRAGGED = [
    ("float sum = 0", "for (int t", "float sum = 0.0f;"),
    ("Load A as", "128 bits", "Load A as float4"),
    ("2 Vectorised loads", "4 Unroll", "Double buffering"),
    ("29  64", "28  32", "0.1139"),
    ("best so far", "first 0.1", "best so far"),
    ("The loads of A", "so a warp", "bytes wide,"),
]


@pytest.mark.slow
async def test_what_is_dragged_over_is_copied(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        app = pilot.app
        await pilot.press("v")
        for start, end, copied in DRAGGED:
            app.copy_to_clipboard("")
            app.clear_notifications()
            await settled(pilot)
            await drag(pilot, place_of(app, start, 0), place_of(app, end, 7))
            await pilot.press("ctrl+c")
            await settled(pilot)
            assert copied in app.clipboard
            assert "copied" in notices(app)[-1]  # type: ignore[arg-type]


@pytest.mark.slow
async def test_a_click_on_the_start_screen_selects_and_only_the_second_of_two_begins(tmp_path: Path) -> None:
    async def found() -> Found:
        return Found({name: [("auto", "auto")] for name in PICKS})

    async def look() -> StartWorld:
        return StartWorld(dict.fromkeys(PICKS, "auto"), found, list, *[lambda *_: None] * 5)  # type: ignore[arg-type]

    app = StartApp([GivenFile(Path("a.cu")), GivenFile(Path("b.cu"))], look)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.click(offset=place_of(app, "b.cu"))
        await pilot.pause()
        assert app.query_one("#kernels", OptionList).highlighted == 1
        assert app.is_running
        await pilot.click(offset=place_of(app, "a.cu"), times=2)
        await pilot.pause()
    assert app.return_value == ["a.cu"]
