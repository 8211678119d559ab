"""What the user types in the chat: words for the model at any time, and the reason of a rejection in a line of its own.

They are two widgets, so that what was typed into the one can never be sent as the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static


class ChatInput(Input):
    """A line to type into; Esc leaves it and keeps what was typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, id="chat_leave", tooltip="Leave; what you typed is kept.")
    ]

    @dataclass
    class InputLeft(Message):
        """The user sent nothing."""

    def on_mount(self) -> None:
        """No blinking."""
        self.cursor_blink = False

    def action_leave(self) -> None:
        """Say so."""
        self.post_message(self.InputLeft())


class SayInput(ChatInput):
    """Words for the model's next prompt."""


class ReasonInput(ChatInput):
    """Why the step that awaits the user is rejected."""


class EntryLine(Horizontal):
    """An input behind a sign that says what Enter does with the words.

    Args:
        sign: with its style.
    """

    def __init__(self, sign: Content, entry: ChatInput) -> None:
        super().__init__(classes="entry-line")
        self._sign = sign
        self._entry = entry

    def compose(self) -> ComposeResult:
        """Sign and input."""
        yield Static(self._sign, markup=False, classes="sign")
        yield self._entry
