"""Lines that go on beyond the edge of their pane end with a sign that they do, and there is a way to see the rest."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from textual.color import Color
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import drawn, screen_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.session import events
from tui_tuner.session.events import Event
from tui_tuner.tui.tables.evaluation_table import EvaluationTable
from tui_tuner.tui.text import cut_off, source_views
from tui_tuner.tui.text.source_views import DiffView, SourceArea

SUM = " + ".join(f"A[{number}]" for number in range(60))
LONG = scripted.VECTORS.edited(f"int first;\n\tint sum = {SUM};\nint wide = 日本語日本語日本語;\n")


def reviewed(lines: int = 0) -> ScriptedRun:
    """A kernel with a line too long for any terminal awaits the user."""
    source = LONG.edited(LONG.source + "int more;\n" * lines)
    *before, _, changed, _ = scripted.awaiting()
    proposed = events.CandidateProposed(step=2, candidate=source, rationale="x", elapsed=330.0)
    asked = scripted.PROPOSAL.model_copy(update={"candidate": source})
    script: list[Event] = [*before, proposed, changed, asked]  # type: ignore[list-item]
    return ScriptedRun(script, stays=True)


def line_with(pilot: Pilot[str], words: str) -> str:
    """The part of the kernel's pane in the line with these words."""
    line = next(line for line in screen_text(pilot.app).split("\n") if words in line)
    return line[line.index("│") + 1 :].partition("│")[0]


async def bottom_of(pilot: Pilot[str], shown: Widget) -> None:
    """Have the lines in view that are new in the diff."""
    shown.scroll_to(y=shown.max_scroll_y, animate=False)
    await settled(pilot)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_a_line_that_goes_on_ends_with_a_sign_until_its_end_is_in_view(
    started: Started, size: tuple[int, int]
) -> None:
    async with started(reviewed(), size=size) as pilot:
        for view, keys in (("diff", ()), ("source", ("d", "d"))):
            await pilot.press(*keys)
            await settled(pilot)
            shown = pilot.app.screen.query_one(f"#view-{view}")
            await bottom_of(pilot, shown)
            assert line_with(pilot, "int sum").rstrip().endswith("…"), view
            assert "…" not in line_with(pilot, "int first"), view
            if isinstance(shown, SourceArea):
                shown.move_cursor((1, len(SUM) + len("\tint sum = ;")))
            else:
                shown.scroll_to(x=shown.max_scroll_x, animate=False)
            await settled(pilot)
            assert line_with(pilot, "+ A[59];").rstrip().endswith("A[59];"), view
            assert "…" not in line_with(pilot, "+ A[59];"), view


@pytest.mark.slow
async def test_lines_can_be_broken_at_the_edge_and_let_go_on_again(started: Started) -> None:
    async with started(reviewed(), size=(80, 40)) as pilot:
        view = pilot.app.screen.query_one(DiffView)
        await pilot.press("W")
        await settled(pilot)
        await bottom_of(pilot, view)
        shown = "".join(line[:78] for line in screen_text(pilot.app).split("\n"))
        assert "A[59]" in shown
        assert not line_with(pilot, "int sum").rstrip().endswith("…")
        assert view.max_scroll_x == 0
        await pilot.press("W")
        await settled(pilot)
        await bottom_of(pilot, view)
        assert line_with(pilot, "int sum").rstrip().endswith("…")
        await pilot.press("d", "d", "W")
        await settled(pilot)
        assert "A[59]" in screen_text(pilot.app)


@pytest.mark.slow
async def test_only_the_lines_in_view_are_looked_at(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    cells = source_views.cell_len
    monkeypatch.setattr(source_views, "cell_len", lambda text: looked.append(text) or cells(text))
    async with started(reviewed(lines=3000), size=(80, 24)) as pilot:
        await pilot.press("d", "d")
        await settled(pilot)
        screen_text(pilot.app)
        looked.clear()
        await pilot.press("pagedown")
        await settled(pilot)
        screen_text(pilot.app)
        assert 0 < len(looked) < 4 * 24


@pytest.mark.slow
async def test_headings_say_that_there_are_more_columns(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(80, 24)) as pilot:
        await pilot.press("3")
        await settled(pilot)
        table = pilot.app.screen.query_one(EvaluationTable)
        assert table.max_scroll_x > 0
        assert line_with(pilot, "vs best").rstrip().endswith("…")
        table.scroll_to(x=table.max_scroll_x, animate=False)
        await settled(pilot)
        assert not line_with(pilot, "state").rstrip().endswith("…")


def test_a_sign_two_cells_wide_at_the_edge_gives_way_to_the_mark() -> None:
    assert cut_off(Strip([Segment("ab"), Segment("日")])).text == "ab …"
    assert cut_off(Strip([Segment("abc")])).text == "ab…"
    assert cut_off(Strip([])).text == ""


@pytest.mark.slow
@pytest.mark.parametrize("keys", [(), ("vertical_line",)])
async def test_the_background_of_changed_lines_goes_on_to_the_edge_of_a_wide_pane(
    started: Started, keys: tuple[str, ...]
) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), size=(200, 50)) as pilot:
        await pilot.press(*keys)
        await settled(pilot)
        shown = pilot.app.screen.query_one("#diff-text")
        assert shown.region.right > 100
        grounds = {"4 * threadIdx.x + 3": "success-muted", "unchanged lines": "surface"}
        for words, ground in grounds.items():
            line = next(line for line in drawn(pilot.app) if words in line.text)
            style = next(iter(line.crop(shown.region.right - 1, shown.region.right))).style
            assert style is not None
            assert style.bgcolor == Color.parse(pilot.app.get_css_variables()[ground]).rich_color, words
