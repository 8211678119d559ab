"""The words of a step: its title in one line and its detail, for a new step or one that is still to come."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static, TextArea

from tui_tuner.text import clean
from tui_tuner.tui.plain import clickable, one_line
from tui_tuner.tui.plan_changes import StepWords


class StepDialog(ModalScreen[StepWords | None]):
    """Two fields over the screen; the result is what they say, or None if the user gave up.

    Args:
        heading: which step it is.
        words: what the fields say at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True, tooltip="Take the step as it stands."),
        Binding("escape", "give_up", "Cancel", tooltip="Leave the plan as it is."),
    ]

    def __init__(self, heading: Content, words: StepWords) -> None:
        super().__init__()
        self._heading = heading
        self._words = words

    def compose(self) -> ComposeResult:
        """Heading, fields and keys."""
        with Vertical(classes="dialog"):
            yield Static(self._heading, markup=False, classes="dialog-title")
            yield Static("title", classes="field-name")
            yield Input(one_line(self._words.title).plain, id="step-title", select_on_focus=False, compact=True)
            yield Static("detail, in more words", classes="field-name")
            yield TextArea(clean(self._words.detail), id="step-words", soft_wrap=True, compact=True)
            yield Static(_keys(), markup=False, classes="dialog-keys")

    def on_mount(self) -> None:
        """No blinking."""
        self.query_one(Input).cursor_blink = False
        self.query_one(TextArea).cursor_blink = False

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Close with the words; a step without a title is none."""
        title = self.query_one(Input).value.strip()
        if title:
            self.dismiss(StepWords(title, self.query_one(TextArea).text.strip()))
        else:
            self.notify("A step needs a title.", markup=False)

    def action_give_up(self) -> None:
        """Close without them."""
        self.dismiss(None)


def _keys() -> Content:
    save = clickable(Content.assemble(("ctrl+s", "bold"), " save"), "screen.save")
    leave = clickable(Content.assemble(("esc", "bold"), " leave"), "screen.give_up")
    return Content("    ").join([save, leave])
