"""The two ways in which a source is shown: as it is, and as the difference of two.

A line that goes on beyond the edge ends with a sign that it does.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.geometry import Region
from textual.getters import query_one
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static, TextArea
from textual.widgets.text_area import Selection

from tui_tuner.tui.text import cut_off
from tui_tuner.tui.text.diff import DiffPicture, diff_picture
from tui_tuner.tui.text.highlighting import YAML, apply_language, colour_yaml
from tui_tuner.tui.themes import tints


class LinedArea(TextArea):
    """A text whose lines are broken at the edge, or say in their last cell that they go on beyond it."""

    _is_yaml = False

    def colour_as(self, language: str) -> None:
        """Colour the text as one in a language of sources."""
        self._is_yaml = language == YAML
        apply_language(self, language)

    def get_line(self, line_index: int) -> Text:
        """Textual's own; a line of YAML has its colours here."""
        line = super().get_line(line_index)
        if self._is_yaml:
            colour_yaml(line, self.app.theme_variables)
        return line

    def on_resize(self) -> None:
        """Draw what is broken elsewhere now: Textual 8.2 breaks it anew when it has drawn."""
        if self.soft_wrap:
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line in view."""
        strip, line = super().render_line(y), self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if self.soft_wrap or line >= self.document.line_count:
            return strip
        end = self.gutter_width + cell_len(self.document.get_line(line).expandtabs(self.indent_width))
        return cut_off(strip.crop(0, width)) if end > self.scroll_offset.x + width else strip


class SourceArea(LinedArea):
    """A source to read; the keys of an editor that delete scroll here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "half(1)", "Half a page down", show=False, id="source_half_down"),
        Binding("ctrl+u", "half(-1)", "Half a page up", show=False, id="source_half_up"),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What would change the text leaves its keys to the screen."""
        return not action.startswith(("undo", "redo", "cut", "paste", "delete_"))

    def action_half(self, direction: int) -> None:
        """Go on by half a page."""
        self.move_cursor_relative(rows=direction * max(1, self.size.height // 2))

    def seek(self, words: str, step: int) -> bool:
        """Select the next place of some words in a direction, round the ends; whether there is one."""
        places = [
            (number, line.lower().find(words.lower())) for number, line in enumerate(self.document.lines) if words
        ]
        found = [place for place in places if place[1] >= 0]
        here = self.selection.start[0]
        beyond = [place for place in found if (place[0] > here if step > 0 else place[0] < here)]
        if found:
            line, column = (beyond or found)[0 if step > 0 else -1]
            self.selection = Selection((line, column), (line, column + len(words)))
            self.scroll_cursor_visible(animate=False)
        return bool(found)


_LARGE = 50_000  # characters of two sources, whose diff takes so long that it is waited for
_LEAD = 2
"""Lines above a hunk that is gone to."""


class _DiffText(Static):
    """The lines of a diff.

    Attributes:
        ends: in which cell each ends.
    """

    def __init__(self) -> None:
        super().__init__(id="diff-text", markup=False)
        self.ends: Sequence[int] = ()

    def render_line(self, y: int) -> Strip:
        """A line, whose background goes on to the edge."""
        strip = super().render_line(y)
        behind = [segment.style for segment in strip][-1:]
        ground = Style(bgcolor=behind[0].bgcolor) if behind and behind[0] is not None else None
        return strip.extend_cell_length(self.size.width, ground)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines in view; the last cell of each says so where it goes on beyond the edge."""
        strips, right = super().render_lines(crop), crop.right
        if right >= self.size.width:
            return strips
        ends = [*self.ends[crop.y : crop.bottom], *[0] * len(strips)]
        return [cut_off(strip) if end > right else strip for strip, end in zip(strips, ends, strict=False)]


class DiffView(ScrollableContainer, can_focus=True):
    """The difference of two sources.

    Attributes:
        hunk: the change that was gone to last, counted from 0; None before any was.
        split: whether old and new stand side by side.
    """

    _text = query_one(_DiffText)

    class Moved(Message):
        """Another change is the chosen one, or the diff is another."""

    def __init__(self) -> None:
        super().__init__(id="view-diff")
        self.hunk: int | None = None
        self.split = self._breaks = False
        self._drawn_for = 0
        self._shown: tuple[str, str, str] | None = None
        self._picture = DiffPicture(Content())
        self._pictured: tuple[str, str, str] | None = None  # the sources of the picture
        self._sought = ""

    def compose(self) -> ComposeResult:
        """One text as wide as its longest line."""
        yield _DiffText()

    def on_mount(self) -> None:
        """Nothing is shown yet."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._redraw())

    @property
    def hunks(self) -> int:
        """How many changes there are."""
        return len(self._picture.hunks)

    @property
    def selected(self) -> str:
        """The chosen change as text; empty where none is."""
        return "" if self.hunk is None else self._picture.words(self.hunk)

    def show(self, old: str, new: str, language: str) -> None:
        """Show what leads from one source to the other."""
        if self._shown != (old, new, language):
            if len(old) + len(new) > _LARGE:  # until it is there, another one would stand below the new title
                self.show_message("working the changes out …")
            self._shown = (old, new, language)
            self._redraw()

    def show_split(self, split: bool) -> None:
        """Side by side, or one under the other."""
        self.split = split
        self._redraw()

    def show_broken(self, breaks: bool) -> None:
        """Break lines at the edge, or let them go on beyond it."""
        self._breaks = breaks
        self._redraw()

    def on_resize(self) -> None:
        """Two halves, and lines that are broken, take the width that there is."""
        if (self.split or self._breaks) and self._columns != self._drawn_for:
            self._redraw()

    @property
    def _columns(self) -> int:
        return self.size.width - self.styles.scrollbar_size_vertical

    def _redraw(self) -> None:
        if self._shown is not None:
            self._drawn_for = self._columns
            columns = self._columns if self.split else None
            broken_at = self._columns if self._breaks else None
            self._compute(*self._shown, tinted=tints(self.app), columns=columns, broken_at=broken_at)

    def show_message(self, text: str) -> None:
        """Show one line instead of a diff."""
        self._shown = None
        self._take(DiffPicture(Content.styled(text, "$foreground-muted italic")))

    def go_to_hunk(self, step: int) -> None:
        """Go to the next change in a direction; at the last one stay there."""
        if not self.hunks:
            return
        ahead = 0 if step > 0 else self.hunks - 1
        self.hunk = ahead if self.hunk is None else max(0, min(self.hunks - 1, self.hunk + step))
        self.scroll_to(y=max(0, self._picture.hunks[self.hunk][0] - _LEAD), animate=False)
        self._paint()
        self.post_message(self.Moved())

    def seek(self, words: str, step: int) -> bool:
        """Mark some words and go to the next line with them in a direction, round the ends; whether there is one."""
        self._sought = words
        self._paint()
        found = self._picture.lines_with(words) if words else []
        here = round(self.scroll_offset.y) + _LEAD
        beyond = [line for line in found if (line > here if step > 0 else line < here)]
        if found:
            line = (beyond or found)[0 if step > 0 else -1]
            self.scroll_to(y=max(0, line - _LEAD), animate=False)
        return bool(found)

    def _paint(self) -> None:
        content = self._picture.content
        if self.hunk is not None:
            lines = content.split("\n", allow_blank=True)
            first, last = self._picture.hunks[self.hunk]
            marked = [line.stylize("bold") if first <= at <= last else line for at, line in enumerate(lines)]
            content = Content("\n").join(marked)
        if self._sought:
            content = content.highlight_regex(re.compile(re.escape(self._sought), re.IGNORECASE), style="reverse")
        self._text.update(content)

    def _take(self, picture: DiffPicture, pictured: tuple[str, str, str] | None = None) -> None:
        """Show a picture: of the same sources at the same place and change, of others from their start."""
        line = 0
        if pictured is None or pictured != self._pictured:
            self.hunk = None
        else:
            line = self._picture.line_in(picture, round(self.scroll_offset.y))
        self._picture, self._pictured, self._text.ends = picture, pictured, picture.ends
        self._paint()
        self.scroll_to(x=0, y=line, animate=False)
        self.post_message(self.Moved())

    @work(exclusive=True, exit_on_error=False, group="diff", description="diff of two kernels")
    async def _compute(
        self, old: str, new: str, language: str, *, tinted: bool, columns: int | None, broken_at: int | None
    ) -> None:
        drawn = asyncio.to_thread(diff_picture, old, new, language, tinted=tinted, columns=columns, broken_at=broken_at)
        self._take(await drawn, (old, new, language))
