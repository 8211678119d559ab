"""A titled text over the screen, scrolled if it is long, closed by Esc, Enter or q."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static


class MessageDialog(ModalScreen[None]):
    """A text to read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "close", "Close", tooltip="Go back to the panes.")
    ]

    def __init__(self, title: Content, body: Content, *, large: bool = False) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._size_class = "-large" if large else ""

    def compose(self) -> ComposeResult:
        """Title, text and key."""
        with Vertical(classes=f"dialog {self._size_class}"):
            yield Static(self._title, markup=False, classes="dialog-title")
            with VerticalScroll(classes="dialog-body"):
                yield Static(self._body, markup=False)
            yield Static("[b]esc[/b] back to the panes", classes="dialog-keys")

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)
