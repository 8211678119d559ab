"""Text that is data (of models, compilers, files) made into content that cannot act as markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content
from textual.geometry import Region, Size
from textual.style import Style
from textual.widget import Widget

from tui_tuner.text import clean

_HANGS = "hangs"
_LEAST_TEXT = 20
"""Cells of a line behind a label; where there would be fewer it goes on at the left edge."""


def plain(text: str, style: str = "") -> Content:
    """The text as it stands, without control characters, in one style."""
    return Content.styled(clean(text), style) if style else Content(clean(text))


def one_line(text: str, style: str = "") -> Content:
    """The text with every run of white space made one blank."""
    return plain(" ".join(clean(text).split()), style)


def cut(text: str, space: int) -> str:
    """The text, or as much of it as fits with a sign that there is more."""
    return text if len(text) <= space else f"{text[: max(0, space - 1)]}…"


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
