"""The table of evaluations as a widget: it draws the difference and keeps the selected row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from tui_tuner.tui.benchmark_rows import Cells, Order, Tunables, cells, sort_key
from tui_tuner.tui.picture import Row

_STATE_WIDTH = 64
_SHORT_FROM_MS = 0.01  # shorter times are written with one decimal more
_OPTIONAL = ("roofline", "registers", "spill")
"""Columns that are left out where the device tells none of it."""
_COLUMNS = ("number", "configuration", "time", "interval", "roofline", "registers", "spill", "state")
_WIDE = 40
"""A configuration that needs more cells stands behind its time, which has to be in sight."""


class EvaluationTable(DataTable[Text]):
    """Evaluations, a row each; columns have fixed widths so that no update measures the others."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False, id="row_down", tooltip="Select the next row."),
        Binding("k", "cursor_up", "Up", show=False, id="row_up", tooltip="Select the row before."),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=0, id="evaluations")
        self._widths: dict[str, int] = {}
        self._order: Order = "newest"
        self._drawn: dict[int, tuple[Row, Cells]] = {}
        self._shown: tuple[str, ...] = _COLUMNS
        self._columns_drawn: tuple[Tunables, str, bool, tuple[str, ...]] | None = None

    def draw(self, rows: Sequence[Row], columns: Tunables, unit: str, titles: Mapping[str, str], order: Order) -> None:
        """Show exactly these rows; the cursor stays on its row, or on top if it is there.

        Args:
            unit: over the column of times.
            titles: of the candidates by id.
        """
        selected, on_top = self.selected_number, self.cursor_row == 0
        with self.app.batch_update():
            short = all(row.time >= _SHORT_FROM_MS for row in rows)
            shown = _ordered(_told(rows), columns)
            if self._columns_drawn != (columns, unit, short, shown):
                self._draw_columns(columns, unit, short, shown)
            changed = self._drop_others({row.number for row in rows})
            for row in rows:
                changed |= self._draw_row(row, columns, titles.get(row.candidate, ""))
            if changed or order != self._order:
                self._order = order
                self._sort(order)
                self._select(None if on_top else selected)

    @property
    def selected_number(self) -> int | None:
        """The number of the evaluation under the cursor."""
        if not self.is_valid_row_index(self.cursor_row):
            return None
        value = self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value
        return None if value is None else int(value)

    def _draw_columns(self, columns: Tunables, unit: str, short: bool, shown: tuple[str, ...]) -> None:
        self.clear(columns=True)
        self._drawn.clear()
        self._shown = shown
        self._columns_drawn = (columns, unit, short, shown)
        labels = ("#", columns.header, unit, "95% CI", "roofline", "regs", "spill", " state")
        widths = (
            5,
            len(columns.header) + 1,
            max(7 if short else 8, len(unit) + 1),
            16 if short else 18,
            9,
            5,
            6,
            _STATE_WIDTH,
        )
        self._widths = dict(zip(_COLUMNS, widths, strict=True))
        named = dict(zip(_COLUMNS, labels, strict=True))
        for key in shown:
            label, width = named[key], self._widths[key]
            self.add_column(Text(label if key == "state" else f"{label:>{width}}"), key=key, width=width)

    def _drop_others(self, wanted: set[int]) -> bool:
        gone = self._drawn.keys() - wanted
        for number in gone:
            self.remove_row(str(number))
            del self._drawn[number]
        return bool(gone)

    def _draw_row(self, row: Row, columns: Tunables, title: str) -> bool:
        known = self._drawn.get(row.number)
        if known is not None and known[0] is row:
            return False
        content = cells(row, columns, title)
        self._drawn[row.number] = (row, content)
        style = _style(row)
        if known is None:
            self.add_row(*self._texts(content, style), key=str(row.number))
            return True
        for key, text in zip(self._shown, self._texts(content, style), strict=True):
            self.update_cell(str(row.number), key, text)
        return True

    def _texts(self, content: Cells, style: str) -> list[Text]:
        texts = dict(zip(_COLUMNS, astuple(content), strict=True))
        return [
            Text(f" {texts[key]}" if key == "state" else _right(texts[key], self._widths[key]), style=style)
            for key in self._shown
        ]

    def _sort(self, order: Order) -> None:
        rows = {number: row for number, (row, _) in self._drawn.items()}
        self.sort("number", key=lambda cell: sort_key(rows[int(cell.plain.strip().lstrip("★"))], order))

    def _select(self, number: int | None) -> None:
        row = self.get_row_index(str(number)) if number in self._drawn else 0
        self.move_cursor(row=row, animate=False, scroll=False)


def _told(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns in which at least one row has something to say."""
    known: set[str] = set()
    for evaluation in (row.evaluation for row in rows if row.evaluation is not None):
        resources = evaluation.resources
        values = (evaluation.share, resources.registers, resources.spill_bytes)
        known.update(key for key, value in zip(_OPTIONAL, values, strict=True) if value is not None)
    return tuple(key for key in _COLUMNS if key not in _OPTIONAL or key in known)


def _ordered(shown: tuple[str, ...], columns: Tunables) -> tuple[str, ...]:
    """The columns from left to right."""
    if len(columns.header) <= _WIDE:
        return shown
    behind = ("configuration", "registers", "spill", "state")
    return (*(key for key in shown if key not in behind), *(key for key in behind if key in shown))


def _right(text: str, width: int) -> str:
    """The text at the right of a column, after one blank; cut if it is too long."""
    return f"{text if len(text) < width else text[: width - 2] + '…':>{width}}"


def _style(row: Row) -> str:
    if row.evaluation is None:
        return "italic dim"
    if row.evaluation.failure is not None:
        return "dim"
    return "bold" if row.incumbent else ""
