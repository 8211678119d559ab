"""Pane 3: the table of what was measured, and the curve of the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_tuner.session import events
from tui_tuner.subjects import Source
from tui_tuner.tui.columns import RowOrder, columns_help
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

★ is the incumbent. `o` goes on to the next order, `O` turns it round; so does a click on a heading. `/` filters by
words such as `block_size_x=64`, `wrong result` or a step's title, or by an expression such as
`time < 0.2 and status == ok`: it may name tunables, number, time, low, high, speedup, roofline, registers, spill,
shared, status (ok, failed, running), reason (compile_error, wrong_result, ...) and candidate.
Enter shows everything about a row: log, source and diff, to copy, or to have a step that starts from there.
"""

    order: var[int] = var(0, init=False)
    turned: var[bool] = var(False, init=False)

    @dataclass
    class RowChosen(Message):
        """The user wants to know all about a row."""

        title: Content
        text: Content
        source: Source | None

    def __init__(self, view: SubjectView) -> None:
        super().__init__(3, "Benchmarks")
        self._view_model = ViewModel()
        self._contents = view.contents()
        self._turned: dict[str, RowOrder[Any]] = {}
        text = view.table_help or self.HELP
        self.HELP = f"{text}\n{columns_help(self._contents.table.all_columns)}"  # type: ignore[misc]  # one pane's own
        self._contents.table.add_class("benchmark-table")

    def compose(self) -> ComposeResult:
        """The curve, the filter (hidden until it is wanted) and the table."""
        yield Static(id="best-chart", markup=False)
        with Horizontal(id="filter-line"):
            yield FilterInput(
                placeholder="words, or: time < 0.2 and status == ok; Esc shows all", id="filter", compact=True
            )
            yield Static(id="filter-fault", markup=False)
        yield self._contents.table

    def on_mount(self) -> None:
        """No filter yet."""
        super().on_mount()
        self.query_one(FilterInput).cursor_blink = False
        self._line.display = False
        self._draw()

    @property
    def _line(self) -> Horizontal:
        return self.query_one("#filter-line", Horizontal)

    @property
    def _order(self) -> RowOrder[Any]:
        """The present one; tunables offer some once they are known."""
        orders = self._contents.orders
        order = orders[self.order % len(orders)]
        if not self.turned:
            return order
        return self._turned.setdefault(order.name, order.turned())

    def title_extra(self) -> Content:
        """The present order."""
        return Content("  ") + clickable(Content.styled(f"[{self._order.name}]", "bold"), "screen.sort")

    def focus_target(self) -> Widget:
        """The table."""
        return self._contents.table

    def copied_text(self) -> tuple[str, str]:
        """All about the selected row."""
        key = self._contents.table.selected_key
        parts = () if key is None else self._contents.about(self._view_model, key)
        return "\n".join(part.plain for part in parts), "the row"

    def next_order(self) -> None:
        """Go on to the next order."""
        self.order = (self.order + 1) % len(self._contents.orders)

    def turn_order(self) -> None:
        """Turn the order round."""
        self.turned = not self.turned

    @on(ColumnTable.Sorted)
    def _sort_by(self, message: ColumnTable.Sorted) -> None:
        names = [order.name for order in self._contents.orders]
        if names[self.order % len(names)] == message.order:
            self.turn_order()
        else:
            self.order = names.index(message.order)

    def watch_order(self) -> None:
        """Sort anew."""
        self.refresh_title()
        self._draw()
        self._contents.table.move_cursor(0)

    watch_turned = watch_order

    def start_filter(self) -> None:
        """Open the filter and type into it."""
        self._line.display = True
        self.query_one(FilterInput).focus()

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self.query_one("#filter-fault", Static).update(
            one_line(self._contents.fault(self.query_one(FilterInput).value))
        )
        self._draw()

    @on(Input.Submitted, "#filter")
    def _to_table(self) -> None:
        self.focus_target().focus()

    @on(FilterInput.FilterLeft)
    def _close_filter(self) -> None:
        self._line.display = False
        self.focus_target().focus()

    @on(ColumnTable.Chosen)
    def _choose(self, message: ColumnTable.Chosen) -> None:
        source = self._contents.source(self._view_model, message.key)
        self.post_message(self.RowChosen(*self._contents.about(self._view_model, message.key), source))

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
        text = self.query_one(FilterInput).value
        self.border_subtitle = one_line(self._contents.draw(self._view_model, text, self._order))

    def _draw_chart(self) -> None:
        chart = self.query_one("#best-chart", Static)
        height = 3 if self.size.height >= 14 else 1
        chart.styles.height = height
        curve = self._contents.chart(self._view_model, max(20, self.content_region.width), height)
        chart.update(curve, layout=False)
