"""The widget that draws rows from columns: of any number of rows only those in view are ever made into text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_tuner.tui.tables import Column, ContextT, PlacedColumn, RowOrder, RowT, column_at, placed, text_goes_on
from tui_tuner.tui.text import SelectableLines, cut_off

_MEASURED = 60
"""So many rows, the first ones, tell how wide the columns are; beside those in view."""
_UNKNOWN = 10_000
"""Cells of the terminal that there are before the table has a size."""
_SOUGHT = 5000
"""So far from where it was a row is sought."""


@dataclass(frozen=True)
class _Line:
    """What stands on a line: the row's text in its columns, and its style."""

    text: str
    style: str
    selected: bool


class ColumnTable(SelectableLines, ScrollView, Generic[RowT, ContextT], can_focus=True):
    """Rows in the order in which they are given; the selected row stays selected, and only what differs is drawn.

    Args:
        columns: from left to right.
        key: names a row, one a table.
        style: of a row, as Rich writes styles, or one of the table's component classes.
        table_id: of the widget.

    Attributes:
        cursor_row: place of the selected row.
        selected_key: its key, None where there is no row.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--header",
        "table--cursor",
        "table--best",
        "table--failed",
        "table--pending",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False, id="row_down", tooltip="Select the next row."),
        Binding("k,up", "move(-1)", "Up", show=False, id="row_up", tooltip="Select the row before."),
        Binding("ctrl+d,pagedown", "move_page(1)", "Page down", show=False, id="row_page_down",
                tooltip="Go down a page of rows."),
        Binding("ctrl+u,pageup", "move_page(-1)", "Page up", show=False, id="row_page_up",
                tooltip="Go up a page of rows."),
        Binding("g,home", "move_to(False)", "First", show=False, id="row_first", tooltip="Select the first row."),
        Binding("G,end", "move_to(True)", "Last", show=False, id="row_last", tooltip="Select the last row."),
        Binding("left", "scroll_half(-1)", "Left", show=False, id="row_left", tooltip="Show the columns before."),
        Binding("right", "scroll_half(1)", "Right", show=False, id="row_right",
                tooltip="Show what stands beyond the edge: more columns, and those that are cut, whole."),
        Binding("enter", "choose", "open row", id="row_open", tooltip="Show everything about the row."),
    ]  # fmt: skip

    @dataclass
    class Chosen(Message):
        """The user wants to know all about a row."""

        key: str

    @dataclass
    class Sorted(Message):
        """The user wants the order of this name."""

        order: str

    def __init__(
        self,
        columns: Sequence[Column[RowT, ContextT]],
        key: Callable[[RowT], str],
        style: Callable[[RowT, ContextT], str],
        table_id: str,
    ) -> None:
        super().__init__(id=table_id)
        self.all_columns = tuple(columns)
        self.placed: tuple[PlacedColumn, ...] = ()
        self.cursor_row = 0
        self.selected_key: str | None = None
        self._key = key
        self._style = style
        self._rows: Sequence[RowT] = ()
        self._drawn_for: ContextT | None = None
        self._order: RowOrder[RowT] | None = None
        self._longest: dict[str, int] = {}
        self._texts: dict[str, tuple[RowT, dict[str, str]]] = {}
        self._painted: list[_Line] = []
        self._held: tuple[str, int] | None = None

    @property
    def orders(self) -> tuple[RowOrder[RowT], ...]:
        """Those that columns offer which say something of the rows; the table begins with the first."""
        telling = {each.column.name for each in self.placed}
        columns = [each for each in self.all_columns if not each.optional or each.name in telling]
        return tuple(column.order for column in columns if column.order is not None)

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def texts_at(self, row: int) -> list[str]:
        """What the columns say of a row, from left to right."""
        texts = self._texts_of(self._rows[row])
        return [texts[each.column.name] for each in self.placed]

    def draw(self, rows: Sequence[RowT], context: ContextT, order: RowOrder[RowT] | None = None) -> None:
        """Show exactly these rows in this order; the cursor stays on its row, or on top if it is there.

        What is in view stays on its lines too, whatever comes above it: the selected row, else the first one.

        Args:
            context: what cells and headings need beside the row; the texts of rows that are the same are kept while
                it is equal.
            order: in which they are given, where the user chose it.
        """
        selected = None if self.cursor_row == 0 else self.selected_key
        if context != self._drawn_for:
            self._longest, self._texts = {}, {}
        self._rows, self._drawn_for, self._order = rows, context, order
        held, place = self._held, None if selected is None else self._place_of(selected, self.cursor_row)
        self._select(place or 0)
        self._place_columns()
        self._hold(held if selected is None or place is not None else None)
        self._repaint()

    def _place_of(self, key: str, near: int) -> int | None:
        """The row with a key, sought around a place; None if none there has it."""
        around = range(max(0, near - _SOUGHT), min(len(self._rows), near + _SOUGHT))
        return next((row for row in around if self._key(self._rows[row]) == key), None)

    def _hold(self, held: tuple[str, int] | None) -> None:
        """Have a row on the line on which it stood; without one begin at the top."""
        near = self.scroll_offset.y
        place = 0 if held is None else self._place_of(held[0], near)
        if place is not None and (top := max(0, place - (0 if held is None else held[1]))) != near:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def _to_hold(self) -> tuple[str, int] | None:
        """The row that is to stay on its line, and that line: the selected one if it is in view, else the first."""
        first = self.scroll_offset.y
        row = self.cursor_row if self.cursor_row in self.lines_in_view else first
        return (self._key(self._rows[row]), row - first) if 0 < row < len(self._rows) else None

    # --- columns

    def _texts_of(self, row: RowT) -> dict[str, str]:
        key = self._key(row)
        known = self._texts.get(key)
        if known is not None and known[0] is row:
            return known[1]
        texts = {column.name: column.cell(row, self._drawn_for) for column in self.all_columns}  # type: ignore[arg-type]
        self._texts[key] = (row, texts)
        return texts

    def _place_columns(self) -> None:
        """Make the columns as wide as the texts that were seen need, and tell how much there is to scroll over."""
        if self._drawn_for is None:
            return
        kept, self._texts = self._texts, {}
        for row in (*self._rows[:_MEASURED], *self._in_view()):
            key = self._key(row)
            if key in kept:
                self._texts[key] = kept[key]
            for name, text in self._texts_of(row).items():
                self._longest[name] = max(self._longest.get(name, 0), cell_len(text))
        room = self._room if self.size.width else _UNKNOWN
        now = placed(self.all_columns, self._longest, self._drawn_for, room, self._order)
        if now != self.placed:
            self.placed = now
            self._painted = []
            self.refresh()
        self._extend(Size(sum(each.cells for each in now), len(self._rows) + 1))

    @property
    def _room(self) -> int:
        """Cells of a line that no bar stands in."""
        bar = self.styles.scrollbar_size_vertical if len(self._rows) + 1 > self.size.height else 0
        return self.size.width - bar

    def _extend(self, size: Size) -> None:
        """Tell how much there is to scroll over; more rows where there is a bar already lay nothing out anew."""
        before = self.virtual_size
        if before.width == size.width and min(before.height, size.height) > self.size.height > 0:
            self.set_reactive(ColumnTable.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.virtual_size = size

    def _in_view(self) -> Sequence[RowT]:
        first = self.scroll_offset.y
        return self._rows[first : first + max(0, self.size.height - 1)]

    @property
    def lines_in_view(self) -> range:
        """The rows that are in view, by their place; the first one stands a line below the headings."""
        return range(self.scroll_offset.y, self.scroll_offset.y + len(self._in_view()))

    # --- lines

    def _lines(self) -> Iterator[_Line]:
        yield _Line("".join(each.laid_out(each.heading) for each in self.placed), "", False)
        if self._drawn_for is None:
            return
        for number, row in enumerate(self._in_view(), start=self.scroll_offset.y):
            texts = self._texts_of(row)
            text = "".join(each.laid_out(texts[each.column.name]) for each in self.placed)
            yield _Line(text, self._style(row, self._drawn_for), number == self.cursor_row)

    def _repaint(self) -> None:
        """Draw the lines that differ from what stands there."""
        now, before = list(self._lines()), self._painted
        self._painted, self._held = now, self._to_hold()
        for y in range(max(len(now), len(before))):
            if now[y : y + 1] != before[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        """One line: the headings, a row, or nothing."""
        width, x = self.size.width, self.scroll_offset.x
        if not 0 <= y < len(self._painted):
            return Strip.blank(width, self.rich_style)
        line = self._painted[y]
        if line.style in self.COMPONENT_CLASSES:
            style = self.rich_style + self.get_component_rich_style(line.style, partial=True)
        else:
            style = self.rich_style + Style.parse(line.style)
        if y == 0:
            style += self.get_component_rich_style("table--header")
        elif line.selected:
            style += self.get_component_rich_style("table--cursor", partial=True) + self._cursor_ground()
        edge = x + self._room
        whole = Strip([Segment(line.text, style)])
        strip = whole.crop_extend(x, edge, style)
        if edge < self.virtual_size.width if y == 0 else text_goes_on(self.placed, whole, edge):
            strip = cut_off(strip)
        return self.selectable(strip.extend_cell_length(width, style), self.scroll_offset.y + y if y else 0)

    def line_text(self, line: int) -> str:
        """The text of a row as it is shown, its place counted from 1; of the headings at 0."""
        texts = self._texts_of(self._rows[line - 1]) if 0 < line <= len(self._rows) else None
        return "".join(
            each.laid_out(each.heading if texts is None else texts[each.column.name]) for each in self.placed
        )

    def _cursor_ground(self) -> Style:
        """What stands behind the selected row: its rich style has the colour without its share."""
        ground = self.get_component_styles("table--cursor").background
        return Style(bgcolor=(self.background_colors[1] + ground).rich_color) if 0 < ground.a < 1 else Style()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows come into view."""
        super().watch_scroll_y(old_value, new_value)
        self._place_columns()
        self._repaint()

    def on_resize(self) -> None:
        """More or fewer rows are in view, the selected one among them."""
        self._place_columns()
        self.move_cursor(self.cursor_row)

    # --- the cursor

    def _select(self, row: int) -> None:
        """Remember the row by its key too: when it is drawn next, the rows may stand otherwise."""
        self.cursor_row = row
        self.selected_key = self._key(self._rows[row]) if row < len(self._rows) else None

    def move_cursor(self, row: int) -> None:
        """Select a row, and bring it into view."""
        self._select(max(0, min(row, len(self._rows) - 1)))
        first, height = self.scroll_offset.y, max(1, self.size.height - 1)
        if not first <= self.cursor_row < first + height:
            top = self.cursor_row if self.cursor_row < first else self.cursor_row - height + 1
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self._repaint()

    def action_move(self, rows: int) -> None:
        """Go down so many rows."""
        self.move_cursor(self.cursor_row + rows)

    def action_move_page(self, pages: int) -> None:
        """Go down so many pages."""
        self.move_cursor(self.cursor_row + pages * max(1, self.size.height - 2))

    def action_move_to(self, last: bool) -> None:
        """Go to the first or the last row."""
        self.move_cursor(len(self._rows) - 1 if last else 0)

    def action_scroll_half(self, direction: int) -> None:
        """Go half of what is in sight to a side."""
        self.scroll_relative(x=direction * max(1, self.size.width // 2), animate=False)

    def action_choose(self) -> None:
        """Say which row it is."""
        key = self.selected_key
        if key is not None:
            self.post_message(self.Chosen(key))

    def on_click(self, event: Click) -> None:
        """Select the row; the second of two clicks chooses it; a heading sorts by its column."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y == 0:
            self._sort_by(offset.x + self.scroll_offset.x)
            return
        row = self.scroll_offset.y + offset.y - 1
        if row < len(self._rows):
            self.move_cursor(row)
            if event.chain == 2:
                self.action_choose()

    def _sort_by(self, cell: int) -> None:
        """Want the rows in the order of the column over which a cell lies."""
        found = column_at(self.placed, cell)
        if found is not None and (name := self._order_at(found[0], cell - found[1])):
            self.post_message(self.Sorted(name))

    def _order_at(self, placed: PlacedColumn, cell: int) -> str:
        """The order that a click so many cells into a column wants."""
        column = placed.column
        if column.wants is not None and self._drawn_for is not None:
            before = placed.width - len(placed.heading) if column.side == "right" else column.gap
            return str(column.wants(cell - before, self._drawn_for))
        return "" if column.order is None else column.order.name
