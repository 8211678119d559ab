"""What moves in every list and in every text that is read: the same keys wherever one is."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class Choices(OptionList, inherit_bindings=False):
    """A list of lines, one of them selected; its ends are ends. What Enter does is for whoever has one to say."""

    KEYS: ClassVar[list[Binding]] = [
        Binding("j,down", "cursor_down", "Down", show=False, tooltip="Select the next one."),
        Binding("k,up", "cursor_up", "Up", show=False, tooltip="Select the one before."),
        Binding("g,home", "first", "First", show=False, tooltip="Select the first one."),
        Binding("G,end", "last", "Last", show=False, tooltip="Select the last one."),
        Binding("ctrl+d,pagedown", "page_down", "Page down", show=False, tooltip="Go down a page."),
        Binding("ctrl+u,pageup", "page_up", "Page up", show=False, tooltip="Go up a page."),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]

    def action_cursor_down(self) -> None:
        """Textual's own, which goes on from the top behind the last one."""
        if self.highlighted is None or self.highlighted < self.option_count - 1:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        """Textual's own, which goes on from the end before the first one."""
        if self.highlighted != 0:
            super().action_cursor_up()


class Menu(Choices):
    """A list to choose from: Enter or a click does."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Choose", tooltip="Take the selected one.")]

    def __init__(self, *lines: Content) -> None:
        super().__init__(*map(Option, lines), compact=True, markup=False)
        self.highlighted = 0


class Reading(VerticalScroll, can_focus=True):
    """A text that is scrolled through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False, tooltip="Go down a line."),
        Binding("k", "scroll_up", "Up", show=False, tooltip="Go up a line."),
        Binding("g", "scroll_home", "First", show=False, tooltip="Go to the first line."),
        Binding("G", "scroll_end", "Last", show=False, tooltip="Go to the last line."),
        Binding("ctrl+d", "page_down", "Page down", show=False, tooltip="Go down a page."),
        Binding("ctrl+u", "page_up", "Page up", show=False, tooltip="Go up a page."),
    ]
