"""Pane 3: every evaluation with its time, interval, roofline and resources, and the curve of the best time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_tuner.session import events
from tui_tuner.tui.benchmark_rows import Order, tunables, visible_rows
from tui_tuner.tui.best_chart import best_chart
from tui_tuner.tui.evaluation_table import EvaluationTable
from tui_tuner.tui.formatting import time_label
from tui_tuner.tui.panes.pane import Pane
from tui_tuner.tui.picture import Picture, Row
from tui_tuner.tui.plain import clickable, one_line

_RELEVANT = (events.EvaluationStarted, events.EvaluationFinished, events.IncumbentChanged, events.DeviceReady)


class FilterInput(Input):
    """The words that rows must contain; Esc empties and leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, id="filter_leave", tooltip="Show all rows again.")
    ]

    @dataclass
    class Left(Message):
        """The user is done with the filter."""

    def action_leave(self) -> None:
        """Empty the filter and say so."""
        self.value = ""
        self.post_message(self.Left())


class BenchmarksPane(Pane):
    """The evaluations: newest or fastest first, filtered, each with its detail behind Enter."""

    HELP = """
## Benchmarks

★ is the incumbent. `o` sorts by time or by age, `/` filters by words such as `block_size_x=64`,
`wrong result` or a step's title. Enter shows everything about a row.
"""

    order: var[Order] = var("newest", init=False)

    @dataclass
    class Chosen(Message):
        """The user wants to know all about an evaluation."""

        row: Row

    def __init__(self) -> None:
        super().__init__(3, "Benchmarks")
        self._picture = Picture()

    def compose(self) -> ComposeResult:
        """The curve, the filter (hidden until it is wanted) and the table."""
        yield Static(id="best-chart", markup=False)
        yield FilterInput(placeholder="words that rows must contain; Esc shows all", id="filter", compact=True)
        yield EvaluationTable()

    def on_mount(self) -> None:
        """No filter yet."""
        super().on_mount()
        self.query_one(FilterInput).cursor_blink = False
        self.query_one(FilterInput).display = False
        self._draw()

    def title_extra(self) -> Content:
        """The two orders; the present one in brackets."""
        labels = [
            clickable(Content.styled(f"[{name}]", "bold") if name == self.order else f" {name} ", "screen.sort")
            for name in ("newest", "fastest")
        ]
        return Content("  ") + Content("").join(labels)

    def focus_target(self) -> Widget:
        """The table."""
        return self.query_one(EvaluationTable)

    def toggle_order(self) -> None:
        """Newest first or fastest first."""
        self.order = "fastest" if self.order == "newest" else "newest"

    def watch_order(self) -> None:
        """Sort anew."""
        self.refresh_title()
        self._draw()
        self.query_one(EvaluationTable).move_cursor(row=0, animate=False)

    def start_filter(self) -> None:
        """Open the filter and type into it."""
        entry = self.query_one(FilterInput)
        entry.display = True
        entry.focus()

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._draw()

    @on(Input.Submitted, "#filter")
    def _to_table(self) -> None:
        self.focus_target().focus()

    @on(FilterInput.Left)
    def _close_filter(self) -> None:
        self.query_one(FilterInput).display = False
        self.focus_target().focus()

    @on(EvaluationTable.RowSelected)
    def _choose(self, message: EvaluationTable.RowSelected) -> None:
        if message.row_key.value is not None:
            self.post_message(self.Chosen(self._picture.rows[int(message.row_key.value)]))

    def on_resize(self, _event: Resize) -> None:
        """Draw the curve in the new width."""
        self._draw_chart()

    def show(self, picture: Picture, news: Sequence[events.Event]) -> None:
        """Draw the evaluations if any of them is new or changed."""
        self._picture = picture
        if any(isinstance(event, _RELEVANT) for event in news):
            self._draw()
            self._draw_chart()

    def _draw(self) -> None:
        picture = self._picture
        words = self.query_one(FilterInput).value.lower().split()
        rows = visible_rows(picture.rows.values(), picture.titles, self.order, words)
        columns = tunables(picture.rows.values(), picture.baseline.tunables if picture.baseline else {})
        table = self.query_one(EvaluationTable)
        unit = time_label(picture.device).partition(" (")[0]  # the chart above says it in full
        table.draw(rows, columns, unit, picture.titles, self.order)
        shown = f"{len(rows)} of {len(picture.rows)} rows  " if len(rows) < len(picture.rows) else ""
        self.border_subtitle = one_line(shown + columns.legend)

    def _draw_chart(self) -> None:
        chart = self.query_one("#best-chart", Static)
        height = 3 if self.size.height >= 14 else 1
        chart.styles.height = height
        width = max(20, self.content_region.width)
        chart.update(best_chart(self._picture.best_times, time_label(self._picture.device), width, height))
