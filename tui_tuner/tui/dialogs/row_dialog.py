"""All about one row of a table: what came of it with its log, its source, and the diff to what was given."""

from __future__ import annotations

import re
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.highlight import highlight
from textual.widgets import Static

from tui_tuner.format import counted
from tui_tuner.session.plan import AddStep
from tui_tuner.subjects import Source
from tui_tuner.text import clean
from tui_tuner.tui.copying import copied
from tui_tuner.tui.dialogs import Dialog
from tui_tuner.tui.moving import Reading
from tui_tuner.tui.text import Paragraphs, clickable, hanging, plain
from tui_tuner.tui.text.diff import diff_picture
from tui_tuner.tui.text.highlighting import PYGMENTS_NAMES

_VIEWS = ("result", "source", "diff")


class RowDialog(Dialog[AddStep | None]):
    """The views of a row; the result is a step that starts from its source, or None.

    Args:
        source: what it is about; None where that is nothing of its own, and there is the result only.
        given: what the diff is against.
        language: of both.
        proposes: whether the session can still have such a step.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "close", "Close", tooltip="Go back to the panes."),
        Binding("d,tab,right", "turn(1)", "Next view", tooltip="Go on to source, diff, result."),
        Binding("shift+tab,left", "turn(-1)", "View before", show=False, tooltip="Go back to diff, source, result."),
        Binding("y", "copy", "Copy", tooltip="Copy what is shown."),
        Binding("p", "propose", "A step from here", tooltip="Have a step in the plan that starts from this kernel."),
    ]

    def __init__(
        self,
        title: Content,
        text: Content,
        source: Source | None,
        given: Source | None,
        language: str,
        *,
        proposes: bool,
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._source = source
        self._given = given
        self._language = language
        self._proposes = proposes
        self._view = 0

    @property
    def _views(self) -> tuple[str, ...]:
        return _VIEWS if self._source is not None and self._source.source else _VIEWS[:1]

    def compose(self) -> ComposeResult:
        """Title, and one of the views."""
        with Vertical(classes="dialog -large"):
            yield Static(id="row-title", markup=False, classes="dialog-title")
            with Reading(classes="dialog-body"):
                yield Paragraphs(self._text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There are views of a source only, and a step can start from one, in a session that goes on."""
        has_source = len(self._views) > 1
        return {"propose": self._proposes and has_source, "turn": has_source}.get(action, True)

    def on_mount(self) -> None:
        """Begin with the result."""
        self._draw()

    def _draw(self) -> None:
        names = (f"[{name}]" if number == self._view else f" {name} " for number, name in enumerate(self._views))
        label = Content("").join(Content.styled(name, "bold" if name[0] == "[" else "") for name in names)
        self.query_one("#row-title", Static).update(self._title + "  " + clickable(label, "screen.turn(1)"))
        self.query_one(Paragraphs).show(self._content())
        self.query_one(Reading).scroll_home(animate=False)

    def _content(self) -> Content:
        source, given = self._source, self._given
        if self._view == 0 or source is None:
            return self._text
        if self._view == 1:
            return highlight(clean(source.source), language=PYGMENTS_NAMES.get(self._language, "c"))
        before = "" if given is None else given.source
        lines = diff_picture(before, source.source, self._language, tinted=not self.app.current_theme.ansi).content
        return Content("\n").join(_behind_gutter(line) for line in lines.split("\n", allow_blank=True))

    def action_turn(self, views: int) -> None:
        """Go on to another view."""
        self._view = (self._view + views) % len(self._views)
        self._draw()

    def action_copy(self) -> None:
        """Copy the view; of the source its text as it is."""
        source = self._source
        text = source.source if self._view == 1 and source is not None else self._content().plain
        copied(self.app, text, counted(len(text.splitlines()), "line"))

    def action_propose(self) -> None:
        """Close with a step that starts from the source."""
        if self._source is not None:
            title = plain(self._source.title or "the kernel as given").plain
            self.dismiss(AddStep(title=f"Go on from {title}", base=self._source.id))

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)


def _behind_gutter(line: Content) -> Content:
    """A line of a diff that goes on behind its number and sign where it is broken."""
    gutter = re.match(r" *\d+ [-+ ] ", line.plain)
    return line if gutter is None else hanging(line[: gutter.end()]) + line[gutter.end() :].rstrip()
