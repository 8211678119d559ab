"""A scrolling, highlighted diff; highlighting and matching happen in a thread."""

from __future__ import annotations

import asyncio
from functools import cache

from textual import work
from textual.app import ComposeResult
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.highlight import highlight
from textual.widgets import Static

from tui_tuner.format import counted
from tui_tuner.text import clean
from tui_tuner.tui.diff_rows import DiffRow, changed_lines, diff_rows
from tui_tuner.tui.highlighting import PYGMENTS_NAMES

_TAB = 4
_SIGNS = {"same": " ", "added": "+", "removed": "-"}
_STYLES = {"added": "$text-success", "removed": "$text-error", "same": "$foreground-muted"}
_BACKGROUNDS = {"added": "on $success-muted", "removed": "on $error-muted"}


def _lines(source: str) -> list[str]:
    return clean(source).expandtabs(_TAB).rstrip("\n").split("\n")


def _highlighted(lines: list[str], language: str) -> list[Content]:
    """Each line in colour; without colour where the highlighter does not keep the lines."""
    coloured = highlight("\n".join(lines), language=PYGMENTS_NAMES.get(language, "c")).split("\n", allow_blank=True)
    if [line.plain for line in coloured[: len(lines)]] != lines:
        return [Content(line) for line in lines]
    return list(coloured[: len(lines)])


def _row(row: DiffRow, text: Content, digits: int, width: int, tinted: bool) -> Content:
    style = _STYLES[row.kind]
    gutter = Content.styled(f"{row.number:>{digits}} {_SIGNS[row.kind]} ", style)
    line = gutter + text.pad_right(max(0, width - text.cell_length))
    background = _BACKGROUNDS.get(row.kind) if tinted else None
    return line if background is None else line.stylize_before(background)


@cache
def _fold(lines: int, digits: int) -> Content:
    return Content.styled(f"{'⋯':>{digits}}   {counted(lines, 'unchanged line')}", "$foreground-muted italic")


def diff_content(old: str, new: str, language: str, *, tinted: bool = True) -> Content:
    """The diff of two sources as one content, a line a row; takes tens of ms for long ones.

    Args:
        tinted: whether changed lines have a coloured background; a terminal's own 16 colours
            are too strong for one.
    """
    if clean(old) == clean(new):
        return Content.styled("no difference", "$foreground-muted italic")
    old_lines, new_lines = _lines(old), _lines(new)
    rows = diff_rows(old_lines, new_lines)
    texts = {"removed": _highlighted(old_lines, language), "added": _highlighted(new_lines, language)}
    digits = len(str(max(len(old_lines), len(new_lines))))
    width = max((len(line) for line in old_lines + new_lines), default=0)
    added, removed = changed_lines(rows)
    lines = [Content.styled(f"+{added} -{removed} lines", "$foreground-muted")]
    for row in rows:
        if row.kind == "fold":
            lines.append(_fold(row.lines, digits))
        else:
            text = texts["removed" if row.kind == "removed" else "added"][row.number - 1]
            lines.append(_row(row, text, digits, width, tinted))
    return Content("\n").join(lines)


class DiffView(ScrollableContainer, can_focus=True):
    """The difference of two sources."""

    def compose(self) -> ComposeResult:
        """One static text as wide as its longest line."""
        yield Static(id="diff-text", markup=False)

    def on_mount(self) -> None:
        """Nothing is shown yet."""
        self._shown: tuple[str, str, str] | None = None
        self.app.theme_changed_signal.subscribe(self, lambda _: self._redraw())

    def show(self, old: str, new: str, language: str) -> None:
        """Show what leads from one source to the other."""
        if self._shown != (old, new, language):
            self._shown = (old, new, language)
            self._redraw()

    def _redraw(self) -> None:
        if self._shown is not None:
            self._compute(*self._shown, tinted=not self.app.current_theme.ansi)

    def show_message(self, text: str) -> None:
        """Show one line instead of a diff."""
        self._shown = None
        self.query_one("#diff-text", Static).update(Content.styled(text, "$foreground-muted italic"))

    @work(exclusive=True, exit_on_error=False, group="diff", description="diff of two kernels")
    async def _compute(self, old: str, new: str, language: str, *, tinted: bool) -> None:
        content = await asyncio.to_thread(diff_content, old, new, language, tinted=tinted)
        self.query_one("#diff-text", Static).update(content)
        self.scroll_home(animate=False)
