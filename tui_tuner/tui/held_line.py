"""The frozen tunables in one dim line at the foot of the plan."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from tui_tuner.problem.model import Configuration
from tui_tuner.tui.key_line import key_of
from tui_tuner.tui.plan_lines import frozen_text


class FrozenTunablesLine(Widget):
    """Frozen tunables with the key that thaws; a click does what the key does. Hidden where none is frozen."""

    @dataclass
    class Clicked(Message):
        """The user wants to thaw one."""

    def __init__(self) -> None:
        super().__init__(id="held")
        self.display = False
        self._frozen: Configuration = {}

    def on_mount(self) -> None:
        """Name the key only while it acts."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def show(self, frozen: Configuration) -> None:
        """Show these, or nothing."""
        self._frozen = frozen
        self.display = bool(frozen)
        self.refresh()

    def render(self) -> Content:
        """One line."""
        return frozen_text(self._frozen, key_of(self.screen, "thaw"), self.content_size.width)

    def on_click(self, event: Click) -> None:
        """As the key."""
        event.stop()
        self.post_message(self.Clicked())
