"""Pane 3: the table of what was measured, and the curve of the best."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.events import Resize
from textual.geometry import Offset
from textual.getters import query_one
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_tuner.session import events
from tui_tuner.session.plan import Compare
from tui_tuner.subjects import Source
from tui_tuner.tui.moving import Target
from tui_tuner.tui.panes import Look, Pane
from tui_tuner.tui.panes.charts import chart_lines
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.tables import FilterLine, RowOrder, columns_help
from tui_tuner.tui.tables.rows import PinLines, Pins, configured
from tui_tuner.tui.tables.table import ColumnTable
from tui_tuner.tui.text import clickable, cut, cut_list, one_line
from tui_tuner.tui.view_model import EvaluationRow, ViewModel

_LEAST_HIGH = 16
"""Lines of a pane in which some may be taken from the rows to tell what short names stand for."""
_CORNERS = 6
"""Cells of a border that no words have."""

_MANY = 5000
"""Rows; more are filtered once the typing pauses."""
_TYPING_S = 0.25

TableAction = Literal["next_order", "turn_order", "next_chart", "filter", "pin"]
IN_THE_TABLE: tuple[TableAction, ...] = ("filter", "pin")
"""What keys do to the benchmarks in their pane only, and to rows that there are."""
_NOT_EVERYWHERE: dict[str, TableAction] = {"compare": "pin", "chart": "next_chart"}
"""Names of keys that some sessions have not, with what they do."""


class BenchmarksPane(Pane):
    """A table in one of its orders, filtered, each row with its detail behind Enter."""

    kind = "Benchmarks"
    HELP = """
## Benchmarks

★ is the incumbent. `{sort}` goes on to the next order, `{turn_order}` turns it round; so does a click on a heading.
`{filter}` filters by words such as `block_size_x=64`, `wrong result` or a step's title, or by an expression such as
`time < 0.2 and state == ok`: it may name tunables, number, time, low, high, speedup, roofline, registers, spill,
shared, state (ok, failed, running), reason (compile_error, wrong_result, ...) and candidate. Esc shows all rows again.
Enter shows everything about a row: log, source and diff, to copy, or to have a step that starts from there.
*in doubt* is what passed the checks while another configuration of the same kernel passed them and failed later.

`{compare}` pins a row, and on another row has both timed in turns on fresh data: while the session runs as soon as the
device is free, after its end as long as the device is kept. FAST, SLOW and SAME stand where all of the interval says
so, else UNCLEAR; Enter on either shows it again. `{compare}` on a pinned row lets it go.

`{chart}` goes on to the next chart: the best over evaluations, over time, then for each tunable the times (★ the
incumbent's) over its values, each with the number of its failures; equal heights are equal factors.
"""

    _line = query_one(FilterLine)
    order: var[str] = var("", init=False)
    chart: var[str] = var("", init=False)
    turned: var[bool] = var(False, init=False)

    @dataclass
    class PairWanted(Message):
        """The user wants two rows timed in turns."""

        pair: Compare

    @dataclass
    class RowChosen(Message):
        """The user wants to know all about a row."""

        title: Content
        text: Content
        source: Source | None

    def __init__(self, view: SubjectView, pin_key: str) -> None:
        super().__init__(3, "Benchmarks")
        self._pin_key = pin_key
        self._view_model = ViewModel()
        self._contents = view.contents()
        self._turned: dict[str, RowOrder[Any]] = {}
        self._pins = Pins()
        self._titled = self._words_below = ""
        self._wanted = ""
        text = view.table_help or self.HELP
        self.HELP = f"{text}\n{columns_help(self._contents.table.all_columns)}"  # type: ignore[misc]  # one pane's own
        self._contents.table.add_class("benchmark-table")
        self.unused = frozenset(name for name, what in _NOT_EVERYWHERE.items() if not self.offers(what))

    def compose(self) -> ComposeResult:
        """The curve, the filter (hidden until it is wanted) and the table."""
        yield Static(id="best-chart", markup=False)
        yield FilterLine(self._contents.filter_words, self._contents.fault)
        yield PinLines()
        yield self._contents.table
        yield Static(id="below-table", markup=False)

    def on_mount(self) -> None:
        """Nothing is measured yet."""
        super().on_mount()
        self._draw()

    def offers(self, what: TableAction) -> bool:
        """Whether a key does anything with what this session measures."""
        if what == "pin":
            return self._contents.compares
        return what != "next_chart" or len(self._contents.charts) > 1

    def acts(self, what: TableAction) -> bool:
        """Whether a key does anything now: an empty table has no row to compare, and nothing to filter out."""
        rows = self._contents.table.row_count > 0 or bool(self._line.display)
        return self.offers(what) and (rows or what not in IN_THE_TABLE)

    @property
    def _order(self) -> RowOrder[Any]:
        """The present one; tunables offer some once they are known."""
        order = next(one for one in self._contents.orders if one.name == self._order_name)
        if not self._is_turned:
            return order
        return self._turned.setdefault(order.name, order.turned())

    @property
    def _order_name(self) -> str:
        """Its name while it is not turned round."""
        orders = self._contents.orders
        return self.order if self.order in [one.name for one in orders] else orders[0].name

    @property
    def _is_turned(self) -> bool:
        """Whether that is turned round; an order of another kind of session was remembered with its own direction."""
        return self.turned and self.order == self._order_name

    @property
    def look(self) -> Look:
        """What is worth keeping of how it looks."""
        return Look(order=self.order, turned=self.turned, chart=self.chart)

    def set_look(self, look: Look) -> None:
        """Look as it did; what a table does not have is its first."""
        self.order, self.turned, self.chart = look.order, look.turned, look.chart

    def title_extra(self) -> Content:
        """The present order."""
        self._titled = self._order.title
        return Content("  ") + clickable(Content.styled(f"[{self._titled}]", "bold"), "screen.benchmarks('next_order')")

    def focus_target(self) -> Widget:
        """The table."""
        return self._contents.table

    def targets(self) -> Iterator[Target]:
        """The rows in view."""
        table = self._contents.table
        for line, row in enumerate(table.lines_in_view, start=1):
            yield Target(table.region.offset + Offset(0, line), lambda row=row: self._go_to(row))  # type: ignore[misc]

    def _go_to(self, row: int) -> None:
        self._contents.table.focus()
        self._contents.table.move_cursor(row)

    def copied_text(self) -> tuple[str, str]:
        """All about the selected row."""
        return self.selected_words, "the row"

    def do(self, what: TableAction) -> None:
        """What a key or a click wants."""
        match what:
            case "next_order":
                names = [order.name for order in self._contents.orders]
                self.turned, self.order = False, names[(names.index(self._order_name) + 1) % len(names)]
            case "turn_order":
                self.turned, self.order = not self._is_turned, self._order_name
            case "next_chart":
                charts = self._contents.charts
                self.chart = charts[(charts.index(self._chart_name) + 1) % len(charts)]
            case "filter":
                self._line.open()
            case "pin":
                self._pin()

    def watch_chart(self) -> None:
        """Draw it."""
        self._draw_chart()

    def _pin(self) -> None:
        """Pin the selected row or let it go; with two of them, want them compared."""
        key = self._contents.table.selected_key
        row = None if key is None else self._contents.pinned(self._view_model, key)
        if row is None:
            self.notify("Only what was timed can be compared with something else.", markup=False)
            return
        both = self._pins.toggle(row.number)
        self._contents.marked = tuple(self._pins.numbers)
        if both:
            first, second = map(configured, self._pinned_rows)
            self.post_message(self.PairWanted(Compare(first=first, second=second)))
        self._draw()
        self._draw_chart()  # which makes room

    @property
    def pins(self) -> bool:
        """Whether a row is pinned."""
        return bool(self._pins.numbers)

    @property
    def _pinned_rows(self) -> list[EvaluationRow]:
        return [self._view_model.rows[number] for number in self._pins.numbers if number in self._view_model.rows]

    @on(ColumnTable.Sorted)
    def _sort_by(self, message: ColumnTable.Sorted) -> None:
        if message.order == self._order_name:
            self.do("turn_order")
        else:
            self.turned, self.order = False, message.order

    def watch_order(self) -> None:
        """Sort anew."""
        self.refresh_title()
        self._draw()
        self._contents.table.move_cursor(0)

    watch_turned = watch_order

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        if len(self._view_model.rows) > _MANY:
            self._sift()
        else:
            self._apply_filter()

    @work(exclusive=True, exit_on_error=False, group="filter", description="filtering many rows")
    async def _sift(self) -> None:
        """Filter many rows once the typing pauses, and in slices: no key waits for it."""
        await asyncio.sleep(_TYPING_S)
        await self._contents.sift(self._view_model, self._line.input.value)
        self._apply_filter()

    def _apply_filter(self) -> None:
        self._wanted = self._line.input.value
        self._draw()

    @on(Input.Submitted, "#filter")
    def _to_table(self, message: Input.Submitted) -> None:
        self._line.display = bool(message.value.strip())
        self.focus_target().focus()

    @property
    def filters(self) -> bool:
        """Whether there is a filter, and keys are for the table."""
        return self.has_class("-active") and bool(self._line.display)

    @on(FilterLine.Left)
    def show_all(self) -> None:
        """Filter no more."""
        self._line.clear()
        self.focus_target().focus()

    @on(ColumnTable.Chosen)
    def _choose(self, message: ColumnTable.Chosen) -> None:
        source = self._contents.source(self._view_model, message.key)
        self.post_message(self.RowChosen(*self._contents.about(self._view_model, message.key), source))

    @property
    def exported(self) -> str:
        """The whole table as CSV; empty where there is nothing in it."""
        return self._contents.exported(self._view_model)

    @property
    def selected_words(self) -> str:
        """What the row under the cursor is and all there is to say about it, as text; empty where there is none."""
        key = self._contents.table.selected_key
        parts = () if key is None else self._contents.about(self._view_model, key)
        return "\n".join(part.plain for part in parts)

    def on_resize(self, _event: Resize) -> None:
        """Draw in the new width what depends on it."""
        self._draw_chart()
        self._tell_below()

    def show(self, view_model: ViewModel, news: Sequence[events.Event]) -> None:
        """Draw the rows if any of them is new or changed."""
        self._view_model = view_model
        if any(isinstance(event, self._contents.relevant) for event in news):
            self._draw()
            self._draw_chart()

    def _draw(self) -> None:
        had_rows = self._contents.table.row_count > 0
        words = self._contents.draw(self._view_model, self._wanted, self._order)
        if had_rows != (self._contents.table.row_count > 0):
            self.screen.refresh_bindings()
        if words != self._words_below:
            self._words_below = words
            self._tell_below()
        if self._titled != self._order.title:  # one that is remembered may be known only now
            self.refresh_title()
        self.query_one(PinLines).show(self._pinned_rows, self._view_model, self._pin_key)

    def _tell_below(self) -> None:
        """Tell of the table in the border below it; in a high pane names that are too many for it in lines over it."""
        words, below = one_line(self._words_below), self.query_one("#below-table", Static)
        lines, room = self._lines_below, max(0, self.outer_size.width - _CORNERS)
        names = self._contents.explains_names
        below.display = names and words.cell_length > room and self.size.height >= _LEAST_HIGH
        self.write_below("" if below.display else (cut_list if names else cut)(words.plain, room))
        below.update(words)
        if self._lines_below != lines:  # the chart makes room
            self._draw_chart()

    @property
    def _lines_below(self) -> int:
        """About so many lines stand below the table."""
        below = self.query_one("#below-table", Static)
        return -(-cell_len(self._words_below) // max(1, self.content_region.width)) if below.display else 0

    def _draw_chart(self) -> None:
        chart, name = self.query_one("#best-chart", Static), self._chart_name
        pinned = len(self._pins.numbers) + 1 if self.pins else 0
        is_curve = name in self._contents.curves
        height = chart_lines(self.size.height, self._lines_below, pinned, is_curve=is_curve)
        chart.styles.height = height
        drawn = self._contents.chart(self._view_model, name, max(20, self.content_region.width), height)
        chart.update(drawn, layout=False)

    @property
    def _chart_name(self) -> str:
        """The present one; tunables have some once they are known."""
        charts = self._contents.charts
        return self.chart if self.chart in charts else charts[0]
