"""Text that is data (of models, compilers, files) made into content that cannot act as markup, and can be selected.

Beside this: as Markdown, in colours, as a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.content import Content
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from tui_tuner.text import clean, flattened

_HANGS = "hangs"
_LEAST_TEXT = 20
"""Cells of a line behind a label; where there would be fewer it goes on at the left edge."""


def plain(text: str, style: str = "") -> Content:
    """The text as it stands, without control characters, in one style."""
    return Content.styled(clean(text), style) if style else Content(clean(text))


def one_line(text: str, style: str = "") -> Content:
    """The text with every run of white space made one blank."""
    return plain(flattened(text), style)


def cut(text: str, space: int) -> str:
    """The text, or as much of it as fits in so many cells with a sign that there is more."""
    return text if cell_len(text) <= space else f"{set_cell_size(text, max(0, space - 1))}…"


def cut_list(items: str, space: int) -> str:
    """A list with commas, or as many of its first items as fit in so many cells with a sign that there are more."""
    kept, text = items.split(", "), items
    while len(kept) > 1 and cell_len(text) > space:
        kept.pop()
        text = ", ".join([*kept, "…"])
    return cut(text, space)


def clickable(label: str | Content, action: str) -> Content:
    """A label that runs an action when it is clicked.

    Args:
        action: in Textual's notation, as in `screen.pane(2)`; never built from data.
    """
    content = Content(label) if isinstance(label, str) else label
    return content.stylize(Style.from_meta({"@click": action}))


def hanging(label: Content) -> Content:
    """A label behind whose end a line goes on where `Paragraphs` has to break it."""
    return label.stylize(Style.from_meta({_HANGS: label.cell_length}))


Pairs = list[tuple[str, str | Content]]
"""Names and what belongs to them; several lines may belong to one name, which only the first of them has."""


def pairs_table(pairs: Sequence[tuple[str, str | Content]]) -> Content:
    """Names and what belongs to them in two columns, a line each; those without anything are left out."""
    width = max(len(name) for name, _ in pairs)
    lines = (
        hanging(Content.styled(f"{name:<{width}}  ", "$foreground-muted"))
        + (value if isinstance(value, Content) else one_line(value))
        for name, value in pairs
        if value
    )
    return Content("\n").join(lines)


def listed(name: str, values: Mapping[str, str]) -> Pairs:
    """What belongs to one name, as values that have names of their own, in line."""
    width = max(map(len, values), default=0)
    lines = [plain(f"{one:<{width}} = {value}") for one, value in values.items()]
    return [(name if place == 0 else "", line) for place, line in enumerate(lines)]


def laid_out(content: Content, width: int) -> Content:
    """The lines broken at `width` cells, each going on under the end of its `hanging` label, if it has one."""
    lines: list[Content] = []
    for line in content.split("\n", allow_blank=True):
        metas = (span.style.meta for span in line.spans if isinstance(span.style, Style))
        indent = next((meta[_HANGS] for meta in metas if _HANGS in meta), 0)
        if width - indent < _LEAST_TEXT:
            indent = 0
        first, *more = line[indent:].wrap(max(1, width - indent)) or [Content()]
        lines += [line[:indent] + first, *(Content(" " * indent) + rest for rest in more)]
    return Content("\n").join(lines)


class Paragraphs(Widget):
    """Text that is broken into lines as wide as the widget, see `hanging`."""

    DEFAULT_CSS = "Paragraphs { height: auto; }"

    def __init__(self, content: Content | None = None) -> None:
        super().__init__()
        self._content = content or Content()

    def show(self, content: Content) -> None:
        """Show another text."""
        self._content = content
        self.refresh(layout=True)

    def lines(self, width: int) -> Content:
        """The text in lines of so many cells."""
        return laid_out(self._content, width)

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """As many lines as the text takes."""
        return self.lines(width).plain.count("\n") + 1

    def render(self) -> Content:
        """The lines."""
        return self.lines(self.content_size.width)


class ChangingLine(Widget):
    """A line that is drawn often: only the cells that differ from what stands there go to the terminal."""

    _drawn: Content | None = None

    def line(self, width: int) -> Content:
        """What is to stand there now, in at most `width` cells."""
        raise NotImplementedError

    def follow(self) -> None:
        """Draw what differs, nothing where nothing does."""
        now, before = self.line(self.content_size.width), self._drawn
        if before is None or before.is_same(now):
            return
        cells = differing(before.plain, now.plain)
        if cells is None or before.cell_length != len(before.plain) or now.cell_length != len(now.plain):
            self.refresh()  # only the style differs, or some signs are two cells wide
        else:
            self.refresh(Region(cells[0], 0, cells[1] - cells[0], 1))

    def render(self) -> Content:
        """The line."""
        self._drawn = self.line(self.content_size.width)
        return self._drawn


def differing(before: str, now: str) -> tuple[int, int] | None:
    """From where to where two lines differ; None where they do not."""
    length = max(len(before), len(now))
    pairs = zip(before.ljust(length), now.ljust(length), strict=True)
    places = [place for place, (old, new) in enumerate(pairs) if old != new]
    return (places[0], places[-1] + 1) if places else None


def fitting(parts: Sequence[tuple[int, Content]], between: Content, width: int) -> Content:
    """Parts with something between them, in at most `width` cells.

    Args:
        parts: as (rank, text): of too many the highest rank goes first, and of the last one its end.
    """
    left = list(parts)
    while left:
        line = between.join(text for _, text in left)
        worst = max(rank for rank, _ in left)
        if line.cell_length <= width or all(rank == worst for rank, _ in left):
            return line.truncate(width, ellipsis=True)
        left = [part for part in left if part[0] != worst]
    return Content()


if TYPE_CHECKING:
    _Mixed = Widget
else:
    _Mixed = object  # Textual 8.2 takes styles and component classes from the first widget among the bases alone


def cut_off(strip: Strip) -> Strip:
    """A line whose last cell says that it goes on beyond the edge."""
    if not strip.cell_length:
        return strip
    kept, last = strip.divide([strip.cell_length - 1, strip.cell_length])
    return Strip.join([kept, Strip([Segment("…", segment.style) for segment in last])])


class SelectableLines(_Mixed):
    """Mixed into a widget that draws line by line: what is dragged over is selected, and can be copied."""

    ALLOW_SELECT: ClassVar[bool] = True

    def line_text(self, line: int) -> str:
        """The text of a line of all that there is to scroll over, from 0."""
        raise NotImplementedError

    def selectable(self, strip: Strip, line: int) -> Strip:
        """A line as it is drawn, which knows where it stands, with what is selected of it in the style of that."""
        x, width = self.scroll_offset.x, strip.cell_length
        span = None if self.text_selection is None else self.text_selection.get_span(line)
        if span is not None:
            start, end = (min(max(0, cell - x), width) for cell in (span[0], width + x if span[1] < 0 else span[1]))
            before, selected, behind = strip.divide([start, max(start, end), width])
            strip = Strip.join([before, Strip(Segment.apply_style(selected, post_style=self._chosen())), behind])
        return strip.apply_offsets(x, line)

    def _chosen(self) -> RichStyle:
        """What is selected: letters keep their colour where the theme names none, which then is a transparent one."""
        styles = self.screen.get_component_styles("screen--selection")
        ground = self.background_colors[1] + styles.background
        return RichStyle(bgcolor=ground.rich_color, color=styles.color.rich_color if styles.color.a else None)

    def text_select_all(self) -> None:
        """Select nothing: the second of two clicks, at which Textual calls this, is Enter here."""

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """The text that is selected, and what stands between it and what is selected of another widget."""
        last = max(0, self.virtual_size.height - 1)
        first, start = (0, 0) if selection.start is None else selection.start.transpose
        last, end = (last, None) if selection.end is None else selection.end.transpose
        lines = [self.line_text(line) for line in range(first, last + 1)]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return "\n".join(line.rstrip() for line in lines), "\n"
