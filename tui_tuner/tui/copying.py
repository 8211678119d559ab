"""What is selected on a screen, taken for the clipboard."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen
from textual.widgets import Input, TextArea


def taken_selection(screen: Screen[Any]) -> str:
    """The text that is selected in the focused widget, or else on the screen; then nothing is selected any more."""
    focused = screen.focused
    if isinstance(focused, TextArea | Input) and (text := focused.selected_text):
        if isinstance(focused, TextArea):
            focused.move_cursor(focused.selection.end)
        else:
            focused.cursor_position = focused.selection.end
        return text
    text = screen.get_selected_text() or ""
    screen.clear_selection()
    return text
