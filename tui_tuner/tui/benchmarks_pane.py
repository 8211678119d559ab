"""Pane 3: the table of what was measured, and the curve of the best."""

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
from tui_tuner.tui.columns import columns_help
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.plain import clickable, one_line
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.table import ColumnTable
from tui_tuner.tui.view_model import ViewModel


class FilterInput(Input):
    """The words that rows must contain; Esc empties and leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, id="filter_leave", tooltip="Show all rows again.")
    ]

    @dataclass
    class FilterLeft(Message):
        """The user is done with the filter."""

    def action_leave(self) -> None:
        """Empty the filter and say so."""
        self.value = ""
        self.post_message(self.FilterLeft())


class BenchmarksPane(Pane):
    """A table in one of its orders, filtered, each row with its detail behind Enter."""

    kind = "Benchmarks"
    HELP = """
## Benchmarks

★ is the incumbent. `o` sorts by time or by age, `/` filters by words such as `block_size_x=64`,
`wrong result` or a step's title. Enter shows everything about a row.
"""

    order: var[int] = var(0, init=False)

    @dataclass
    class RowChosen(Message):
        """The user wants to know all about a row."""

        title: Content
        text: Content

    def __init__(self, view: SubjectView) -> None:
        super().__init__(3, "Benchmarks")
        self._view_model = ViewModel()
        self._contents = view.contents()
        text = view.table_help or self.HELP
        self.HELP = f"{text}\n{columns_help(self._contents.table.all_columns)}"  # type: ignore[misc]  # one pane's own
        self._contents.table.add_class("benchmark-table")

    def compose(self) -> ComposeResult:
        """The curve, the filter (hidden until it is wanted) and the table."""
        yield Static(id="best-chart", markup=False)
        yield FilterInput(placeholder="words that rows must contain; Esc shows all", id="filter", compact=True)
        yield self._contents.table

    def on_mount(self) -> None:
        """No filter yet."""
        super().on_mount()
        self.query_one(FilterInput).cursor_blink = False
        self.query_one(FilterInput).display = False
        self._draw()

    def title_extra(self) -> Content:
        """The orders; the present one in brackets."""
        names = [order.name for order in self._contents.table.orders]
        labels = [
            clickable(Content.styled(f"[{name}]", "bold") if number == self.order else f" {name} ", "screen.sort")
            for number, name in enumerate(names)
        ]
        return Content("  ") + Content("").join(labels)

    def focus_target(self) -> Widget:
        """The table."""
        return self._contents.table

    def next_order(self) -> None:
        """Go on to the next order."""
        self.order = (self.order + 1) % len(self._contents.table.orders)

    def watch_order(self) -> None:
        """Sort anew."""
        self.refresh_title()
        self._draw()
        self._contents.table.move_cursor(0)

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

    @on(FilterInput.FilterLeft)
    def _close_filter(self) -> None:
        self.query_one(FilterInput).display = False
        self.focus_target().focus()

    @on(ColumnTable.Chosen)
    def _choose(self, message: ColumnTable.Chosen) -> None:
        self.post_message(self.RowChosen(*self._contents.about(self._view_model, message.key)))

    @property
    def selected_words(self) -> str:
        """All there is to say about the row under the cursor, as text; empty where there is none."""
        key = self._contents.table.selected_key
        return "" if key is None else self._contents.about(self._view_model, key)[1].plain

    def on_resize(self, _event: Resize) -> None:
        """Draw the curve in the new width."""
        self._draw_chart()

    def show(self, view_model: ViewModel, news: Sequence[events.Event]) -> None:
        """Draw the rows if any of them is new or changed."""
        self._view_model = view_model
        if any(isinstance(event, self._contents.relevant) for event in news):
            self._draw()
            self._draw_chart()

    def _draw(self) -> None:
        words = self.query_one(FilterInput).value.lower().split()
        self.border_subtitle = one_line(self._contents.draw(self._view_model, words, self.order))

    def _draw_chart(self) -> None:
        chart = self.query_one("#best-chart", Static)
        height = 3 if self.size.height >= 14 else 1
        chart.styles.height = height
        curve = self._contents.chart(self._view_model, max(20, self.content_region.width), height)
        chart.update(curve, layout=False)
