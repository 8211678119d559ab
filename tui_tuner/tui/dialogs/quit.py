"""The question before leaving a session that is not finished."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tui_tuner.tui.plain import plain


class QuitDialog(ModalScreen[bool]):
    """Leave or stay; the result is whether to leave.

    Args:
        resume: the command that goes on with the session.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l,y", "leave", "Leave", tooltip="Interrupt the session and leave."),
        Binding("escape,n", "stay", "Stay", tooltip="Go back to the session."),
    ]

    def __init__(self, resume: str) -> None:
        super().__init__()
        self._resume = resume

    def compose(self) -> ComposeResult:
        """What happens, how to go on, and two buttons."""
        with Vertical(classes="dialog"):
            yield Static("Leave a resumable run?", classes="dialog-title")
            yield Static("The session stops; what was measured is kept. To go on:", markup=False)
            yield Static(Content("  ") + plain(self._resume, "bold"), markup=False, classes="dialog-command")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Stay (esc)", id="stay", compact=True)
                yield Button("Leave (l)", id="leave", variant="warning", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Leave or stay."""
        self.dismiss(event.button.id == "leave")

    def action_leave(self) -> None:
        """Leave."""
        self.dismiss(True)

    def action_stay(self) -> None:
        """Stay."""
        self.dismiss(False)
