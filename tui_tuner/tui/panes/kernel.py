"""Pane 1: the kernel, or what else is tuned, as source, as difference from the baseline, and the best one so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from textual.app import ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import ContentSwitcher, TextArea

from tui_tuner.session.events import Event
from tui_tuner.source import Source
from tui_tuner.text import clean
from tui_tuner.tui.diff_view import DiffView
from tui_tuner.tui.highlighting import apply_language, apply_theme
from tui_tuner.tui.panes.pane import Pane
from tui_tuner.tui.picture import ViewModel
from tui_tuner.tui.plain import clickable, one_line
from tui_tuner.tui.subject import SubjectView

SourceView = Literal["source", "diff", "best"]
VIEWS: tuple[SourceView, ...] = ("source", "diff", "best")


NO_SOURCE = "the source of this kernel is not known: only its configurations are"


class KernelPane(Pane):
    """The source under consideration, the diff of it (or of the incumbent), and the incumbent."""

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
