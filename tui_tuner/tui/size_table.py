"""The table of problem sizes as a widget: it keeps the selected row while the winners change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from tui_tuner.tui.size_rows import SizeRow, size_cells, telling_first

_LABELS = {
    "group": "group",
    "size": "problem size",
    "gflops": "GFLOP/s",
    "gain": "gain",
    "microseconds": "µs",
    "round": "round",
    "winner": "winner",
}
_WINNER_WIDTH = 120
"""Cells for the winner's values; longer ones are cut, and whole behind Enter."""


class SizeTable(DataTable[Text]):
    """Problem sizes, a row each, with the best solution so far."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False, id="row_down", tooltip="Select the next row."),
        Binding("k", "cursor_up", "Up", show=False, id="row_up", tooltip="Select the row before."),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=0, id="sizes")
        self._drawn: list[SizeRow] = []

    def draw(self, rows: Sequence[SizeRow], latest: int) -> None:
        """Show exactly these rows in this order; the cursor stays on its row, or on top if it is there.

        Args:
            latest: the last round; winners of it stand out.
        """
        if self._drawn == list(rows) and self.columns:
            return
        selected = None if self.cursor_row == 0 else self.selected_key
        self._drawn = list(rows)
        with self.app.batch_update():
            self._fill(rows, latest)
            row = next((number for number, row in enumerate(rows) if row.key == selected), 0)
            self.move_cursor(row=row, animate=False, scroll=False)

    @property
    def selected_key(self) -> str | None:
        """The key of the row under the cursor."""
        if not self.is_valid_row_index(self.cursor_row):
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value

    def _fill(self, rows: Sequence[SizeRow], latest: int) -> None:
        """Write all anew: a run lasts long enough that its end may."""
        names = telling_first(rows)
        texts = {row.key: asdict(size_cells(row, names)) for row in rows}
        shown = [key for key in _LABELS if self._is_told(key, list(texts.values()))]
        widths = {
            key: max([len(_LABELS[key]), *(len(cells[key]) for cells in texts.values())]) + 1 for key in shown
        } | {"winner": _WINNER_WIDTH}
        self.clear(columns=True)
        for key in shown:
            self.add_column(_cell(key, _LABELS[key], widths[key]), key=key, width=widths[key])
        for row in rows:
            new = row.winner is not None and row.winner.round == latest > 0
            style = "dim" if row.winner is None else "bold" if new else ""
            cells = texts[row.key]
            self.add_row(*(_cell(key, cells[key], widths[key], style) for key in shown), key=row.key)

    @staticmethod
    def _is_told(key: str, cells: Sequence[dict[str, str]]) -> bool:
        """Whether a column says anything: groups where there are several, a time where one is known."""
        values = {each[key] for each in cells}
        return len(values) > 1 if key == "group" else key != "microseconds" or bool(values - {""})


def _cell(key: str, text: str, width: int, style: str = "") -> Text:
    """Numbers at the right of a column, after one blank; words at the left."""
    if key == "winner":
        return Text(f"  {text if len(text) < width - 2 else text[: width - 3] + '…'}", style=style)
    return Text(f"{text:<{width}}" if key == "size" else f"{text:>{width}}", style=style)
