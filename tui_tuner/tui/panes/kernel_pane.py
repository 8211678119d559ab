"""Pane 1: the kernel as source, as difference from the baseline, and the best one so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.events import Key
from textual.getters import query_one
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, TextArea

from tui_tuner.session.events import Event, StepChanged
from tui_tuner.subjects import Source
from tui_tuner.text import clean
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.text import clickable
from tui_tuner.tui.text.highlighting import PLAIN, apply_theme
from tui_tuner.tui.text.source_views import DiffView, SourceArea
from tui_tuner.tui.view_model import ViewModel

SourceView = Literal["source", "diff", "best"]
VIEWS: tuple[SourceView, ...] = ("source", "diff", "best")
Base = Literal["step", "given", "best"]
BASES: dict[Base, str] = {"step": "what this step starts from", "given": "as given", "best": "the best so far"}
_TRIED = "what this step tried before"
NO_SOURCE = "the source is not known, only its configurations"


class SeekInput(Input):
    """The words to look for; Esc leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "find", id="seek_submit"),
        Binding("escape", "leave", "leave", id="seek_leave", tooltip="Go back to the kernel."),
    ]

    @dataclass
    class SeekLeft(Message):
        """The user is done with it."""

    def action_leave(self) -> None:
        """Say so."""
        self.post_message(self.SeekLeft())


class KernelPane(Pane):
    """The source under consideration, the diff of it (or of the incumbent), and the incumbent."""

    kind = "Kernel"
    HELP = """
## Kernel

- **source**: the candidate under consideration; without one, the kernel as given
- **diff**: the candidate, or else the incumbent, against what `b` chooses: the kernel that this step starts from (at a
  second try the first one), the kernel as given, the best
- **best**: the incumbent

`{view}` goes on to the next view. A kernel that awaits you has the whole height, with what there is to know of it
beside it; `{review}` shows all panes, and it again, `{facts}` goes there and back.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "line(1)", "Down", show=False, id="kernel_down", tooltip="Go down a line."),
        Binding("k", "line(-1)", "Up", show=False, id="kernel_up", tooltip="Go up a line."),
        Binding("g", "end(-1)", "First", show=False, id="kernel_first", tooltip="Go to the first line."),
        Binding("G", "end(1)", "Last", show=False, id="kernel_last", tooltip="Go to the last line."),
        Binding("ctrl+d", "half(1)", "Half down", show=False, id="kernel_half_down", tooltip="Go down half a page."),
        Binding("ctrl+u", "half(-1)", "Half up", show=False, id="kernel_half_up", tooltip="Go up half a page."),
        Binding("right_square_bracket", "bracket(1)", "Next hunk", show=False, id="hunk_next",
                tooltip="With c after it: go to the next change of the diff, which a question is then about."),
        Binding("left_square_bracket", "bracket(-1)", "Previous hunk", show=False, id="hunk_previous",
                tooltip="With c after it: go to the change before."),
        Binding("c", "hunk", "Hunk", show=False, id="hunk"),
        Binding("b", "base", "Base", show=False, id="diff_base",
                tooltip="Compare with another kernel: where this step starts, as given, the best."),
        Binding("vertical_line", "split", "Side by side", show=False, id="diff_split",
                tooltip="Show the diff side by side, or one under the other."),
        Binding("W", "break_lines", "Break lines", show=False, id="kernel_break",
                tooltip="Break lines that go on beyond the edge, where … marks them; or let them go on again."),
        Binding("slash,ctrl+f", "seek", "Find", show=False, id="kernel_find", tooltip="Find words in what is shown."),
        Binding("n", "seek_on(1)", "Next", show=False, id="kernel_find_next", tooltip="Go to the next place of them."),
        Binding("N", "seek_on(-1)", "Previous", show=False, id="kernel_find_previous",
                tooltip="Go to the place before."),
    ]  # fmt: skip

    view: var[SourceView] = var("source", init=False)
    base: var[Base] = var("step", init=False)

    diff = query_one(DiffView)
    _seek = query_one(SeekInput)

    def __init__(self, view: SubjectView) -> None:
        super().__init__(1, view.pane)
        self.HELP = view.source_help or self.HELP  # type: ignore[misc]  # one pane's own
        self._subject = view
        self._view_model = ViewModel()
        self._shown: tuple[object, ...] | None = None
        self._description = ""
        self._bracket = 0
        self._breaks = False

    def compose(self) -> ComposeResult:
        """Two text areas and a diff, of which one is visible."""
        with ContentSwitcher(initial="view-source"):
            for view in ("source", "best"):
                yield SourceArea(
                    read_only=True, soft_wrap=False, show_line_numbers=True, id=f"view-{view}", compact=True
                )
            yield DiffView()
        yield SeekInput(placeholder="words to find; n and N go on", id="seek", compact=True)

    def on_mount(self) -> None:
        """Colour the sources as the theme says, now and after every change of it."""
        super().on_mount()
        self._seek.display = False
        self.app.theme_changed_signal.subscribe(self, lambda _: self._colour())
        self._colour()

    def _colour(self) -> None:
        for area in self.query(TextArea):
            apply_theme(area)

    def title_extra(self) -> Content:
        """The three views; the one that is shown in brackets."""
        marked = {view: Content.styled(f"[{view}]", "bold") if view == self.view else f" {view} " for view in VIEWS}
        labels = (clickable(label, f"screen.view('{view}')") for view, label in marked.items())
        return Content("  ") + Content("").join(labels)

    def focus_target(self) -> Widget:
        """The view that is shown."""
        return self.query_one(f"#view-{self.view}")

    def copied_text(self) -> tuple[str, str]:
        """The kernel that is shown, or its difference from what it is compared with."""
        (shown, _), base = self._source(), self.compared
        if shown is None:
            return "", ""
        if self.view != "diff" or base is None:
            return shown.source, f"the {self._subject.noun}"
        old, new = base.source.splitlines(keepends=True), shown.source.splitlines(keepends=True)
        return "".join(unified_diff(old, new, self._against, shown.title or "proposed")), "the diff"

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
        if self.view == "diff" and any(isinstance(event, StepChanged) for event in news) and not self._source()[0]:
            self.view = "source"  # what was refused is gone, and there is nothing else to compare
        self._draw()

    def _draw(self) -> None:
        view_model = self._view_model
        if view_model.started is None:
            return
        source, description = self._source()
        state = (self.view, view_model.started, source, description, self._compared(source))
        if state == self._shown:
            return
        self._shown = state
        self._description = description
        self._write_subtitle()
        language = view_model.started.language
        if self.view == "diff":
            self._draw_diff(source, language)
        else:
            self._draw_source(source, language)

    def _draw_source(self, source: Source | None, language: str) -> None:
        area = self.query_one(f"#view-{self.view}", SourceArea)
        code = "" if source is None else clean(source.source)
        text = code if code or source is None else NO_SOURCE
        if area.text != text:
            area.load_text(text)
        area.colour_as(language if code else PLAIN)

    def _draw_diff(self, source: Source | None, language: str) -> None:
        base = self._compared(source)
        if source is None or base is None:
            self.diff.show_message(f"nothing to compare with the {self._subject.noun} as given yet")
        else:
            self.diff.show(base.source, source.source, language)

    @property
    def compared(self) -> Source | None:
        """What the diff of the source under consideration is against."""
        return self._compared(self._source()[0])

    @property
    def _against(self) -> str:
        """The same in words."""
        review = self._view_model.review
        tried = self.base == "step" and review is not None and review.before is not None
        return _TRIED if tried else BASES["given" if review is None else self.base]

    def _compared(self, source: Source | None) -> Source | None:
        """What the diff is against: outside of a review always the source as given."""
        view_model = self._view_model
        review, given = view_model.review, view_model.baseline
        if review is None or source is not review.candidate or self.base == "given":
            return given
        best = self._subject.best(view_model) or given
        return (review.before or best) if self.base == "step" else best

    @on(DiffView.Moved)
    def _write_subtitle(self) -> None:
        words = [self._description]
        if self.view == "diff" and self.diff.hunks:
            words[:0] = [f"against {self._against}"] if self._view_model.review is not None else []
            hunk = self.diff.hunk
            words = words if hunk is None else [f"hunk {hunk + 1}/{self.diff.hunks}", *words]
        self.write_below(" · ".join(words))

    @property
    def selected_hunk(self) -> str:
        """The chosen change of the diff as text; empty where none is."""
        return self.diff.selected if self.view == "diff" else ""

    def _source(self) -> tuple[Source | None, str]:
        """What the present view is about, and what it is in words."""
        view_model = self._view_model
        if self.view != "best" and view_model.review is not None:
            step = "not answered" if view_model.finished is not None else f"step {view_model.review.step}"
            return view_model.review.candidate, f"{step}: {view_model.review.candidate.title}"
        if self.view == "source":
            return view_model.baseline, "as given"
        best = self._subject.best(view_model) or (view_model.baseline if self.view == "best" else None)
        return best, self._subject.best_words(view_model)

    # --- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The second key of two acts after the first one only, and the first one while a diff is shown."""
        if action == "hunk":
            return self._bracket != 0
        return self.view == "diff" if action == "bracket" else True

    def on_key(self, event: Key) -> None:
        """Forget the first key of two, unless the second one follows."""
        if event.key not in ("c", "right_square_bracket", "left_square_bracket"):
            self._bracket = 0

    def action_bracket(self, direction: int) -> None:
        """Take the first key of two."""
        self._bracket = direction

    def action_hunk(self) -> None:
        """Go to the next change in the direction of the first key."""
        self.diff.go_to_hunk(self._bracket)
        self._bracket = 0

    def action_line(self, direction: int) -> None:
        """Go on by a line."""
        if isinstance(shown := self.focus_target(), TextArea):
            shown.move_cursor_relative(rows=direction)
        else:
            shown.scroll_relative(y=direction, animate=False)

    def action_half(self, direction: int) -> None:
        """Go on by half a page."""
        self.diff.scroll_relative(y=direction * max(1, self.diff.size.height // 2), animate=False)

    def action_end(self, direction: int) -> None:
        """Go to the first or the last line."""
        if isinstance(shown := self.focus_target(), TextArea):
            shown.move_cursor((0, 0) if direction < 0 else shown.document.end)
        elif isinstance(shown, ScrollableContainer):
            (shown.scroll_home if direction < 0 else shown.scroll_end)(animate=False)

    def action_base(self) -> None:
        """Compare with the next of the bases; from another view go to the diff."""
        if self.view != "diff":
            self.view = "diff"
            return
        self.base = (bases := [*BASES])[(bases.index(self.base) + 1) % len(bases)]
        self._draw()
        self._write_subtitle()

    def action_split(self) -> None:
        """Side by side, or one under the other; from another view go to the diff, side by side."""
        self.diff.show_split(self.view != "diff" or not self.diff.split)
        self.view = "diff"

    def action_break_lines(self) -> None:
        """Break lines at the edge, or let them go on beyond it."""
        self._breaks = not self._breaks
        for area in self.query(SourceArea):
            area.soft_wrap = self._breaks
        self.diff.show_broken(self._breaks)

    def action_seek(self) -> None:
        """Type words to find."""
        self._seek.display = True
        self._seek.focus()

    def action_seek_on(self, step: int) -> None:
        """Go to the next place of the words in a direction."""
        shown, words = self.focus_target(), self._seek.value
        if words and isinstance(shown, SourceArea | DiffView) and not shown.seek(words, step):
            self.notify(f"There is no '{words}' here.", markup=False)

    @on(Input.Submitted, "#seek")
    def _sought(self, message: Input.Submitted) -> None:
        message.stop()
        self._leave_seek()
        self.action_seek_on(1)

    @on(SeekInput.SeekLeft)
    def _leave_seek(self) -> None:
        self._seek.display = False
        self.focus_target().focus(scroll_visible=False)
