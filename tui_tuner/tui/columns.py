"""What a table is made of: a column as one object, the widget that draws rows from columns, and the curve of the best.

Whoever adds a column writes one `Column` into the list of a table: its heading, its cells, its width, the order it
offers and the sentence that the help says of it are taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from tui_tuner.format import milliseconds

RowT = TypeVar("RowT")
ContextT = TypeVar("ContextT")

_WIDE = 41
"""A column that needs more cells of the terminal stands behind those that have to be in sight."""


@dataclass(frozen=True)
class RowOrder(Generic[RowT]):
    """An order of rows that the user can choose.

    Attributes:
        name: a word for it, as in `newest`.
        key: of a row; rows stand with the smallest key first.
    """

    name: str
    key: Callable[[RowT], tuple[float, ...]]

    def sort(self, rows: Sequence[RowT]) -> list[RowT]:
        """The rows in this order; equal ones as they were."""
        return sorted(rows, key=self.key)


@dataclass(frozen=True)
class Column(Generic[RowT, ContextT]):
    """A column of a table.

    Attributes:
        name: of the column, one a table.
        heading: over its cells; a function where it depends on the context.
        cell: what it says of a row, on one line.
        explanation: what it means, a part of a sentence for the help.
        least: cells of the terminal that it takes at least.
        most: that it takes at most; longer texts are cut. Between both it is as wide as its longest text needs.
        side: where its texts stand: numbers at the right after one blank, words at the left.
        gap: blanks before a text at the left.
        order: by which the user can sort the rows; None where the column offers none.
        optional: whether it is left out while it says nothing of any row.
        in_sight: whether it stands before a column that is very wide.
    """

    name: str
    heading: str | Callable[[ContextT], str]
    cell: Callable[[RowT, ContextT], str]
    explanation: str
    least: int = 0
    most: int = 120
    side: Literal["left", "right"] = "right"
    gap: int = 1
    order: RowOrder[RowT] | None = None
    optional: bool = False
    in_sight: bool = False

    def heading_in(self, context: ContextT) -> str:
        """The heading as it is now."""
        return self.heading if isinstance(self.heading, str) else self.heading(context)

    def width(self, texts: Sequence[str]) -> int:
        """Cells of the terminal that these texts need, one of which is the heading."""
        longest = max(len(text) for text in texts)
        return min(max(longest + max(1, self.gap), self.least), self.most)

    def laid_out(self, text: str, width: int) -> str:
        """The text in its place in `width` cells, cut if it is too long."""
        if self.side == "right":
            return f"{_cut(text, width - 1):>{width}}"
        return " " * self.gap + _cut(text, width - self.gap)


def columns_help(columns: Sequence[Column[Any, Any]]) -> str:
    """What the columns mean, an item a column, in Markdown; named by what stands over them where that is fixed."""
    names = (column.heading if isinstance(column.heading, str) else column.name for column in columns)
    return "\n".join(f"- *{name}*: {column.explanation}" for name, column in zip(names, columns, strict=True))


def _cut(text: str, space: int) -> str:
    return text if len(text) <= space else f"{text[: max(0, space - 1)]}…"


@dataclass(frozen=True)
class _PlacedColumn:
    """A column that is shown, with its heading and its width in cells of the terminal."""

    column: Column[Any, Any]
    heading: str
    width: int


@dataclass(frozen=True)
class _DrawnRow:
    """What the columns say of a row, by their names, and the style of the row."""

    row: object = field(compare=False)
    texts: Mapping[str, str]
    style: str


class _Cell(Text):
    """A cell that knows whose it is, so that rows are sorted by what they are and not by what they say."""

    row_key: str = ""


class ColumnTable(DataTable[Text], Generic[RowT, ContextT]):
    """Rows in the order in which they are given; only what differs is drawn, and the selected row stays selected.

    Args:
        columns: from left to right.
        key: names a row, one a table.
        style: of a row, as Rich writes styles.
        table_id: of the widget.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False, id="row_down", tooltip="Select the next row."),
        Binding("k", "cursor_up", "Up", show=False, id="row_up", tooltip="Select the row before."),
    ]

    def __init__(
        self,
        columns: Sequence[Column[RowT, ContextT]],
        key: Callable[[RowT], str],
        style: Callable[[RowT, ContextT], str],
        table_id: str,
    ) -> None:
        super().__init__(cursor_type="row", cell_padding=0, id=table_id)
        self.all_columns = tuple(columns)
        self._key = key
        self._style = style
        self._drawn_for: ContextT | None = None
        self._placed: tuple[_PlacedColumn, ...] = ()
        self._lines: dict[str, _DrawnRow] = {}

    def draw(self, rows: Sequence[RowT], context: ContextT) -> None:
        """Show exactly these rows in this order; the cursor stays on its row, or on top if it is there.

        Args:
            context: what cells and headings need beside the row; the lines of rows that are the same are kept while
                it is equal.
        """
        selected = None if self.cursor_row == 0 else self.selected_key
        lines = self._lines_of(rows, context)
        placed = _placed(self.all_columns, list(lines.values()), context)
        with self.app.batch_update():
            changed = self._place_columns(placed) | self._place_lines(lines)
            if changed or list(lines) != list(self._lines):
                self._put_in_order(list(lines))
                self._select(selected)
        self._drawn_for, self._lines = context, lines

    @property
    def orders(self) -> tuple[RowOrder[RowT], ...]:
        """Those that the columns offer; the table begins with the first."""
        return tuple(column.order for column in self.all_columns if column.order is not None)

    @property
    def selected_key(self) -> str | None:
        """The key of the row under the cursor."""
        if not self.is_valid_row_index(self.cursor_row):
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value

    def _lines_of(self, rows: Sequence[RowT], context: ContextT) -> dict[str, _DrawnRow]:
        known = self._lines if context == self._drawn_for else {}
        lines: dict[str, _DrawnRow] = {}
        for row in rows:
            key = self._key(row)
            line = known.get(key)
            lines[key] = line if line is not None and line.row == row else self._line(row, context)
        return lines

    def _line(self, row: RowT, context: ContextT) -> _DrawnRow:
        texts = {column.name: column.cell(row, context) for column in self.all_columns}
        return _DrawnRow(row, texts, self._style(row, context))

    def _place_columns(self, placed: tuple[_PlacedColumn, ...]) -> bool:
        """Begin anew if columns, headings or widths differ from what is drawn; whether they do."""
        if placed == self._placed:
            return False
        self.clear(columns=True)
        self._lines = {}
        self._placed = placed
        for each in placed:
            heading = each.column.laid_out(each.heading, each.width)
            self.add_column(Text(heading), key=each.column.name, width=each.width)
        return True

    def _place_lines(self, lines: Mapping[str, _DrawnRow]) -> bool:
        """Remove, add and change rows; whether any differed from what is drawn."""
        gone = self._lines.keys() - lines.keys()
        for key in gone:
            self.remove_row(key)
        changed = [key for key, line in lines.items() if self._lines.get(key) != line]
        for key in changed:
            if key in self._lines:
                for each, cell in zip(self._placed, self._cells(key, lines[key]), strict=True):
                    self.update_cell(key, each.column.name, cell)
            else:
                self.add_row(*self._cells(key, lines[key]), key=key)
        return bool(gone or changed)

    def _cells(self, key: str, line: _DrawnRow) -> list[_Cell]:
        cells = [
            _Cell(each.column.laid_out(line.texts[each.column.name], each.width), style=line.style)
            for each in self._placed
        ]
        for cell in cells:
            cell.row_key = key
        return cells

    def _put_in_order(self, keys: Sequence[str]) -> None:
        places = {key: place for place, key in enumerate(keys)}
        self.sort(self._placed[0].column.name, key=lambda cell: places[cell.row_key])

    def _select(self, key: str | None) -> None:
        row = self.get_row_index(key) if key is not None and key in self.rows else 0
        self.move_cursor(row=row, animate=False, scroll=False)


def _placed(
    columns: Sequence[Column[Any, ContextT]], lines: Sequence[_DrawnRow], context: ContextT
) -> tuple[_PlacedColumn, ...]:
    """The columns that are shown, from left to right."""
    placed: list[_PlacedColumn] = []
    for column in columns:
        texts = [line.texts[column.name] for line in lines]
        if not column.optional or any(texts):
            heading = column.heading_in(context)
            placed.append(_PlacedColumn(column, heading, column.width([heading, *texts])))
    wide = next((place for place, each in enumerate(placed) if each.width > _WIDE), len(placed))
    in_sight = [each for each in placed[wide:] if each.column.in_sight]
    return (*placed[:wide], *in_sight, *(each for each in placed[wide:] if each not in in_sight))


_EIGHTHS = "▁▂▃▄▅▆▇█"


def sampled(values: Sequence[float], width: int) -> list[float]:
    """The values as `width` steps: repeated where there are few, the last of each group where there are many."""
    if not values:
        return []
    return [values[((index + 1) * len(values) + width - 1) // width - 1] for index in range(width)]


def chart_rows(values: Sequence[float], width: int, height: int) -> list[str]:
    """The curve as `height` rows of `width` cells, top first; the smallest value is one eighth high."""
    steps = sampled(values, width)
    if not steps:
        return [""] * height
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    levels = [1 + round((value - low) / span * (8 * height - 1)) for value in steps]
    return ["".join(_cell(level - 8 * row) for level in levels) for row in reversed(range(height))]


def _cell(eighths: int) -> str:
    return " " if eighths <= 0 else _EIGHTHS[min(eighths, 8) - 1]


def best_chart(
    values: Sequence[float],
    unit: str,
    width: int,
    height: int,
    *,
    title: str = "best so far",
    words: Callable[[float], str] = milliseconds,
) -> Content:
    """The curve with its title and with the first and the best value, in `height` lines of at most `width` cells.

    Args:
        words: a value as it is written, without its unit.
    """
    if not values:
        return Content.styled(f"{title}: nothing measured yet", "$foreground-muted")
    first, best = f"{words(values[0])} {unit}", f"{words(values[-1])} {unit}"
    if height == 1:
        label = f"{title} {words(values[0])} → {best} "
        rows = chart_rows(values, max(1, width - len(label)), 1)
        return Content.assemble((label, "$foreground-muted"), (rows[0], "$accent"))
    size = max(len(title), len(first), len(best)) + 1
    labels = [title, *[""] * (height - 3), first, best] if height > 2 else [first, best]
    rows = chart_rows(values, max(1, width - size), height)
    pairs = zip(labels, rows, strict=True)
    return Content("\n").join(
        Content.assemble((f"{label:<{size}}", "$foreground-muted"), (row, "$accent")) for label, row in pairs
    )
