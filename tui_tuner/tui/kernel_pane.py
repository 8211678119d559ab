"""Pane 1: the kernel as source, as difference from the baseline, and the best one so far."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from functools import cache
from typing import Literal

from textual import work
from textual.app import ComposeResult
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.highlight import highlight
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static, TextArea

from tui_tuner.format import counted
from tui_tuner.session.events import Event
from tui_tuner.subjects import Source
from tui_tuner.text import clean
from tui_tuner.tui.highlighting import PYGMENTS_NAMES, apply_language, apply_theme
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.plain import clickable, one_line
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.view_model import ViewModel

SourceView = Literal["source", "diff", "best"]
VIEWS: tuple[SourceView, ...] = ("source", "diff", "best")


NO_SOURCE = "the source of this kernel is not known: only its configurations are"


class KernelPane(Pane):
    """The source under consideration, the diff of it (or of the incumbent), and the incumbent."""

    kind = "Kernel"
    HELP = """
## Kernel

- **source**: the candidate under consideration; without one, the kernel as given
- **diff**: the candidate, or else the incumbent, against the kernel as given
- **best**: the incumbent

`d` goes on to the next view.
"""

    view: var[SourceView] = var("source", init=False)

    def __init__(self, view: SubjectView) -> None:
        super().__init__(1, view.pane)
        self.HELP = view.source_help or self.HELP  # type: ignore[misc]  # one pane's own
        self._subject = view
        self._view_model = ViewModel()
        self._shown: tuple[object, ...] | None = None

    def compose(self) -> ComposeResult:
        """Two text areas and a diff, of which one is visible."""
        with ContentSwitcher(initial="view-source"):
            for view in ("source", "best"):
                yield TextArea(read_only=True, soft_wrap=False, show_line_numbers=True, id=f"view-{view}", compact=True)
            yield DiffView(id="view-diff")

    def on_mount(self) -> None:
        """Colour the sources as the theme says, now and after every change of it."""
        super().on_mount()
        for area in self.query(TextArea):
            area.cursor_blink = False  # a line anew twice a second, also for a terminal far away
        self.app.theme_changed_signal.subscribe(self, lambda _: self._colour())
        self._colour()

    def _colour(self) -> None:
        for area in self.query(TextArea):
            apply_theme(area)

    def title_extra(self) -> Content:
        """The three views; the one that is shown in brackets."""
        labels = [
            clickable(
                Content.styled(f"[{view}]", "bold") if view == self.view else f" {view} ", f"screen.view('{view}')"
            )
            for view in VIEWS
        ]
        return Content("  ") + Content("").join(labels)

    def focus_target(self) -> Widget:
        """The view that is shown."""
        return self.query_one(f"#view-{self.view}")

    def copied_text(self) -> tuple[str, str]:
        """The kernel that is shown, or its difference from that as given."""
        (shown, _), given = self._source(), self._view_model.baseline
        if shown is None or given is None:
            return "", ""
        if self.view != "diff":
            return shown.source, f"the {self._subject.noun}"
        old, new = given.source.splitlines(keepends=True), shown.source.splitlines(keepends=True)
        return "".join(unified_diff(old, new, "as given", shown.title or "proposed")), "the diff"

    def next_view(self) -> None:
        """Go on to the next of source, diff and best."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]

    def watch_view(self, view: SourceView) -> None:
        """Switch, and keep the focus in the pane if it was here."""
        had_focus = self.has_focus_within
        self.query_one(ContentSwitcher).current = f"view-{view}"
        if had_focus:
            self.focus_target().focus(scroll_visible=False)
        self.refresh_title()
        self._draw()

    def show(self, view_model: ViewModel, news: Sequence[Event]) -> None:
        """Draw the kernels of the view model if they changed."""
        self._view_model = view_model
        self._draw()

    def _draw(self) -> None:
        view_model = self._view_model
        if view_model.started is None:
            return
        source, description = self._source()
        state = (self.view, view_model.started, source, description)
        if state == self._shown:
            return
        self._shown = state
        self.border_subtitle = one_line(description)
        language = view_model.started.language
        if self.view == "diff":
            self._draw_diff(source, language)
        else:
            self._draw_source(source, language)

    def _draw_source(self, source: Source | None, language: str) -> None:
        area = self.query_one(f"#view-{self.view}", TextArea)
        text = "" if source is None else clean(source.source) or NO_SOURCE
        if area.text != text:
            area.load_text(text)
        apply_language(area, language)

    def _draw_diff(self, source: Source | None, language: str) -> None:
        view, baseline = self.query_one(DiffView), self._view_model.baseline
        if source is None or baseline is None:
            view.show_message(f"nothing to compare with the {self._subject.noun} as given yet")
        else:
            view.show(baseline.source, source.source, language)

    def _source(self) -> tuple[Source | None, str]:
        """What the present view is about, and what it is in words."""
        view_model = self._view_model
        if self.view != "best" and view_model.review is not None:
            return view_model.review.candidate, f"step {view_model.review.step}: {view_model.review.candidate.title}"
        if self.view == "source":
            return view_model.baseline, "as given"
        return self._subject.best(view_model), self._subject.best_words(view_model)


DiffKind = Literal["same", "added", "removed", "fold"]

CONTEXT = 3
"""Unchanged lines kept around a change."""


@dataclass(frozen=True)
class DiffRow:
    """One row of a diff.

    Attributes:
        number: the line, counted from 1: of the old source for `removed`, of the new one otherwise.
        lines: for a `fold`, how many unchanged lines it stands for.
    """

    kind: DiffKind
    number: int
    lines: int = 1


def _same(start: int, length: int, *, first: bool, last: bool) -> list[DiffRow]:
    """Unchanged lines of the new source from `start` (counted from 0), folded where they are many."""
    head = 0 if first else CONTEXT
    tail = 0 if last else CONTEXT
    hidden = length - head - tail
    if hidden <= 1:
        return [DiffRow("same", start + index + 1) for index in range(length)]
    top = [DiffRow("same", start + index + 1) for index in range(head)]
    bottom = [DiffRow("same", start + length - tail + index + 1) for index in range(tail)]
    return [*top, DiffRow("fold", start + head + 1, hidden), *bottom]


def diff_rows(old: list[str], new: list[str]) -> list[DiffRow]:
    """The rows that lead from the old lines to the new ones; removed lines stand before added ones."""
    rows: list[DiffRow] = []
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for index, (tag, old_start, old_end, new_start, new_end) in enumerate(blocks):
        if tag == "equal":
            first, last = index == 0, index == len(blocks) - 1
            rows += _same(new_start, new_end - new_start, first=first, last=last)
            continue
        rows += [DiffRow("removed", line + 1) for line in range(old_start, old_end)]
        rows += [DiffRow("added", line + 1) for line in range(new_start, new_end)]
    return rows


def changed_lines(rows: list[DiffRow]) -> tuple[int, int]:
    """How many lines were added and removed."""
    return sum(row.kind == "added" for row in rows), sum(row.kind == "removed" for row in rows)


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
