"""Tables of any number of rows, and the one of evaluations.

Here: a column as one object, orders of rows, and the line in which a filter is typed. Whoever adds a column writes one
`Column` into the list of a table: its heading, its cells, its width, the order it offers and the sentence that the
help says of it are taken from there.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload

from rich.cells import cell_len, set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.getters import query_one
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from tui_tuner.tui.text import cut, one_line

RowT = TypeVar("RowT")
ContextT = TypeVar("ContextT")


@dataclass(frozen=True)
class RowOrder(Generic[RowT]):
    """An order of rows that the user can choose.

    Attributes:
        name: a word for it, as in `newest`.
        key: of a row; rows stand with the smallest key first.
        is_turned: whether it is the other way round.
    """

    name: str
    key: Callable[[RowT], tuple[float, ...]]
    is_turned: bool = False

    @property
    def title(self) -> str:
        """The name, and whether it is turned round."""
        return f"{self.name} ↑" if self.is_turned else self.name

    @property
    def mark(self) -> str:
        """What stands behind the heading of that by which rows are sorted."""
        return "▴" if self.is_turned else "▾"

    def sort(self, rows: Sequence[RowT]) -> list[RowT]:
        """The rows in this order; equal ones as they were."""
        return sorted(rows, key=self.key)

    def turned(self) -> RowOrder[RowT]:
        """The other way round; what has no value stays at the end."""
        return RowOrder(self.name, lambda row: tuple(-n if math.isfinite(n) else n for n in self.key(row)), True)


class OrderedRows(Sequence[RowT]):
    """Rows in an order that is kept while rows come and change: a change costs what it is, whatever is there.

    Of what was changed or dropped since it was put here, the row of then stands here still.

    Args:
        order: in which they stand.
        rows: a number -> the row that has it now.
    """

    def __init__(self, order: RowOrder[RowT], rows: Mapping[int, RowT], numbers: Sequence[int] = ()) -> None:
        self._order = order
        self._rows = rows
        self._kept = {number: rows[number] for number in numbers}
        self._keys = {number: (*order.key(row), number) for number, row in self._kept.items()}
        self._places = sorted(self._keys.values())

    def has(self, order: RowOrder[RowT], rows: Mapping[int, RowT]) -> bool:
        """Whether these rows stand here in this order."""
        return rows is self._rows and order == self._order

    def put(self, number: int) -> None:
        """Take a row that is new or changed."""
        self.drop(number)
        self._kept[number] = row = self._rows[number]
        self._keys[number] = (*self._order.key(row), number)
        insort(self._places, self._keys[number])

    def drop(self, number: int) -> None:
        """Leave a row out, if it is there."""
        key = self._keys.pop(number, None)
        if key is not None:
            del self._kept[number]
            del self._places[bisect_left(self._places, key)]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> RowT: ...
    @overload
    def __getitem__(self, place: slice) -> list[RowT]: ...
    def __getitem__(self, place: int | slice) -> RowT | list[RowT]:
        if isinstance(place, slice):
            return [self._kept[int(key[-1])] for key in self._places[place]]
        return self._kept[int(self._places[place][-1])]


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
        wants: the name of the order that a click so many cells into the heading wants; None where `order` is that.
        optional: whether it is left out while it says nothing of any row.
        in_sight: whether it always fits: the others give way to it, and stand behind where there is no room.
        squeezed_to: cells that it can be cut to before it stands behind, one that stretches leaves it twice as many; 0
            where it is shown whole or not at all.
        stretches: whether it takes its `least` cells first, and what the others leave of the rest.
        parts: lengths of its texts behind each of their parts, between which alone they are cut; None to cut anywhere.
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
    wants: Callable[[int, ContextT], str] | None = None
    optional: bool = False
    in_sight: bool = False
    squeezed_to: int = 0
    stretches: bool = False
    parts: Callable[[ContextT], Sequence[int]] | None = None

    def heading_in(self, context: ContextT, order: RowOrder[RowT] | None = None) -> str:
        """The heading as it is now, with a mark where rows are sorted by it."""
        heading = self.heading if isinstance(self.heading, str) else self.heading(context)
        return f"{heading}{order.mark}" if order is not None and self.sorts(order) else heading

    def sorts(self, order: RowOrder[RowT] | None) -> bool:
        """Whether an order is its own, turned round or not."""
        return order is not None and self.order is not None and self.order.name == order.name

    def width(self, longest: int) -> int:
        """Cells of the terminal that it takes where its longest text, the heading included, has so many."""
        return min(max(self.needs(longest), self.least), self.most)

    def needs(self, longest: int) -> int:
        """Cells with which nothing is cut."""
        return longest + max(1, self.gap)

    def squeezed(self, width: int, room: int, context: ContextT) -> int:
        """Cells that it takes of the room there is, where it wants `width` of them."""
        if width <= room or self.parts is None:
            return min(width, room)
        whole = [length for length in self.parts(context) if length + _CUT <= room]
        return whole[-1] + _CUT if whole else room

    def laid_out(self, text: str, width: int) -> str:
        """The text in its place in `width` cells, cut if it is too long."""
        shown = cut(text, width - (1 if self.side == "right" else self.gap))
        before = width - cell_len(shown) if self.side == "right" else self.gap
        return set_cell_size(" " * before + shown, width)


_CUT = 3
"""Cells of a column at the right beside the parts that are left: the blank before it, and one with `…` behind."""


def columns_help(columns: Sequence[Column[Any, Any]]) -> str:
    """What the columns mean, an item a column, in Markdown; named by what stands over them where that is fixed."""
    names = (column.heading if isinstance(column.heading, str) else column.name for column in columns)
    return "\n".join(f"- *{name}*: {column.explanation}" for name, column in zip(names, columns, strict=True))


@dataclass(frozen=True)
class PlacedColumn:
    """A column that is shown, with its heading and its width in cells of the terminal.

    Attributes:
        needs: cells with which none of its texts is cut.
        blank: cells behind it.
    """

    column: Column[Any, Any]
    heading: str
    width: int
    needs: int = 0
    blank: int = 0

    @property
    def cells(self) -> int:
        """All that it takes."""
        return self.width + self.blank

    def laid_out(self, text: str) -> str:
        """The text in its place, cut if it is too long."""
        return self.column.laid_out(text, self.width) + " " * self.blank


def column_at(columns: Sequence[PlacedColumn], cell: int) -> tuple[PlacedColumn, int] | None:
    """The column that has a cell of the line, and the cell at which it begins; None behind all of them."""
    begin = 0
    for each in columns:
        if cell < begin + each.cells:
            return each, begin
        begin += each.cells
    return None


def text_goes_on(columns: Sequence[PlacedColumn], line: Strip, edge: int) -> bool:
    """Whether a text of a line goes on at a cell; values that share a column are texts of their own."""
    at_edge = line.crop(edge - 1, edge + 1)
    if at_edge.cell_length == 2 and " " not in at_edge.text:
        return True
    found = column_at(columns, edge)
    if found is None or found[0].column.parts is not None:
        return False
    return all(part.text.strip() for part in (line.crop(found[1], edge), line.crop(edge, found[1] + found[0].cells)))


def placed(
    columns: Sequence[Column[Any, ContextT]],
    longest: Mapping[str, int],
    context: ContextT,
    room: int,
    order: RowOrder[Any] | None = None,
) -> tuple[PlacedColumn, ...]:
    """The columns that are shown, from left to right: those that fit in their order, then the others, out of sight.

    One whose texts are cut goes on there where it is the last, else it stands there again, with all of them.

    Args:
        longest: cells of the longest text of each column, by its name.
        room: cells of the terminal that there are.
        order: in which the rows stand; the column whose it is always fits, as those in sight do.
    """
    whole: list[PlacedColumn] = []
    for column in columns:
        if not column.optional or longest.get(column.name):
            heading = column.heading_in(context, order)
            most = max(cell_len(heading), longest.get(column.name, 0))
            whole.append(PlacedColumn(column, heading, column.width(most), column.needs(most)))
    if sum(each.width for each in whole) <= room:
        return _all_of(whole)
    widths = {each.column.name: each.width for each in whole if each.column.in_sight or each.column.sorts(order)}
    brought = sum(widths[each.column.name] for each in whole if each.column.name in widths and not each.column.in_sight)
    squeezed = sum(min(each.width, 2 * each.column.squeezed_to) for each in whole if each.column.name not in widths)
    for each in whole:
        if each.column.in_sight and each.column.stretches:  # it makes room for what was brought into sight, or is cut
            left = room - squeezed - sum(widths.values()) + widths.pop(each.column.name)
            least = min(each.column.least, each.needs if longest.get(each.column.name) else each.column.least)
            widths[each.column.name] = max(each.column.least // 2, min(least - brought, left))
    for each in sorted(whole, key=lambda each: not each.column.squeezed_to):
        left = room - sum(widths.values())
        if each.column.name not in widths and min(each.width, each.column.squeezed_to or each.width) <= left:
            widths[each.column.name] = each.column.squeezed(each.width, left, context)
    for each in whole:
        if each.column.stretches:
            widths[each.column.name] = min(each.width, widths[each.column.name] + max(0, room - sum(widths.values())))
    fitting = [replace(each, width=widths[each.column.name]) for each in whole if each.column.name in widths]
    over = max(0, room - sum(widths.values()))  # else the first column behind would be seen in part
    fitting[-1:] = [replace(each, blank=over) for each in fitting[-1:]]
    behind = [each for each in whole if each.column.name not in widths]
    return _all_of([*fitting, *behind])


def _all_of(columns: Sequence[PlacedColumn]) -> tuple[PlacedColumn, ...]:
    """The columns, of which the last is as wide as its texts, and behind them once more the others that are not."""
    wide = [replace(each, width=each.needs, blank=0) if each.width < each.needs else each for each in columns]
    again = [now for now, each in zip(wide[:-1], columns[:-1], strict=True) if now is not each]
    return (*columns[:-1], *wide[-1:], *again)


_BETWEEN = 6
"""Cells between what is typed and what is wrong with it, its margins and the cursor."""


class FilterInput(Input):
    """The words that rows must contain; Esc empties and leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "to the rows", id="filter_submit"),
        Binding("escape", "leave", "all rows", id="filter_leave", tooltip="Show all rows again."),
    ]

    def action_leave(self) -> None:
        """Say so."""
        self.post_message(FilterLine.Left())


class FilterLine(Container):
    """Hidden until it is wanted; what is wrong stands beside what is typed, and below it where there is no room.

    Args:
        words: what a filter may be, in a few words.
        fault_in: what is wrong with one; empty where nothing is.
    """

    input = query_one(FilterInput)
    _fault = query_one("#filter-fault", Static)

    @dataclass
    class Left(Message):
        """The user is done with the filter."""

    def __init__(self, words: str, fault_in: Callable[[str], str]) -> None:
        super().__init__(id="filter-line")
        self.display = False
        self._words, self._fault_in = words, fault_in

    def compose(self) -> ComposeResult:
        """What is typed, and the fault."""
        yield FilterInput(placeholder=f"{self._words}; Esc shows all", id="filter", compact=True)
        yield Static(id="filter-fault", markup=False)

    def open(self) -> None:
        """Let the user type."""
        self.display = True
        self.input.focus()

    def clear(self) -> None:
        """Filter no more."""
        self.input.value = ""
        self.display = False

    @on(Input.Changed)
    def on_resize(self) -> None:
        """Say what is wrong, where there is room for it."""
        fault = one_line(self._fault_in(self.input.value))
        self._fault.update(fault)
        self.set_class(fault.cell_length + len(self.input.value) + _BETWEEN > self.size.width, "-long")
