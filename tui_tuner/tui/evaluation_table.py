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
_COLUMNS = ("number", "configuration", "time", "interval", "roofline", "registers", "spill", "state")


class EvaluationTable(DataTable[Text]):
    """Evaluations, a row each; columns have fixed widths so that no update measures the others."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False, id="row_down", tooltip="Select the next row."),
        Binding("k", "cursor_up", "Up", show=False, id="row_up", tooltip="Select the row before."),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=0, id="evaluations")
        self._drawn: dict[int, tuple[Row, Cells]] = {}
        self._columns_drawn: tuple[Tunables, str] | None = None

    def draw(self, rows: Sequence[Row], columns: Tunables, unit: str, titles: Mapping[str, str], order: Order) -> None:
        """Show exactly these rows.

        Args:
            unit: over the column of times.
            titles: of the candidates by id.
        """
        selected = self.selected_number
        with self.app.batch_update():
            if self._columns_drawn != (columns, unit):
                self._draw_columns(columns, unit)
            changed = self._drop_others({row.number for row in rows})
            for row in rows:
                changed |= self._draw_row(row, columns, titles.get(row.candidate, ""))
            if changed or order != self._order:
                self._order = order
                self._sort(order)
                self._select(selected)

    _order: Order = "newest"

    @property
    def selected_number(self) -> int | None:
        """The number of the evaluation under the cursor."""
        if not self.is_valid_row_index(self.cursor_row):
            return None
        value = self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value
        return None if value is None else int(value)

    def _draw_columns(self, columns: Tunables, unit: str) -> None:
        self.clear(columns=True)
        self._drawn.clear()
        self._columns_drawn = (columns, unit)
        labels = ("#", columns.header, unit, "95% CI", "roofline", "regs", "spill", " state")
        widths = (5, len(columns.header) + 2, max(8, len(unit) + 1), 18, 9, 5, 6, _STATE_WIDTH)
        for key, label, width in zip(_COLUMNS, labels, widths, strict=True):
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
        for key, text in zip(_COLUMNS, self._texts(content, style), strict=True):
            self.update_cell(str(row.number), key, text)
        return True

    def _texts(self, content: Cells, style: str) -> list[Text]:
        return [
            Text(f" {text}" if key == "state" else f"{text:>{self._width(key)}}"[: self._width(key)], style=style)
            for key, text in zip(_COLUMNS, astuple(content), strict=True)
        ]

    def _width(self, key: str) -> int:
        return next(column.width for column in self.ordered_columns if column.key == key)

    def _sort(self, order: Order) -> None:
        rows = {number: row for number, (row, _) in self._drawn.items()}
        self.sort("number", key=lambda cell: sort_key(rows[int(cell.plain.strip().lstrip("★"))], order))

    def _select(self, number: int | None) -> None:
        if number is not None and number in self._drawn:
            self.move_cursor(row=self.get_row_index(str(number)), animate=False, scroll=False)


def _style(row: Row) -> str:
    if row.evaluation is None:
        return "italic dim"
    if row.evaluation.failure is not None:
        return "dim"
    return "bold" if row.incumbent else ""
