"""Lines that a widget draws one by one, made such that the mouse can select in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.selection import Selection
from textual.strip import Strip

if TYPE_CHECKING:
    from textual.widget import Widget as _Mixed
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
            style = self.screen.get_component_rich_style("screen--selection")
            strip = Strip.join([before, Strip(Segment.apply_style(selected, post_style=style)), behind])
        return strip.apply_offsets(x, line)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """The text that is selected, and what stands between it and what is selected of another widget."""
        last = max(0, self.virtual_size.height - 1)
        first, start = (0, 0) if selection.start is None else selection.start.transpose
        last, end = (last, None) if selection.end is None else selection.end.transpose
        lines = [self.line_text(line) for line in range(first, last + 1)]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return "\n".join(line.rstrip() for line in lines), "\n"
