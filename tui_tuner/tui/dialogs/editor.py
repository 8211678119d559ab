"""Editing a kernel inside the app, for terminals without an editor of their own."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from tui_tuner.text import clean
from tui_tuner.tui.highlighting import apply_language, apply_theme
from tui_tuner.tui.plain import one_line


class EditorDialog(ModalScreen[str | None]):
    """A text area over the screen; its result is the source, or None if the user gave up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True, tooltip="Take the kernel as it stands and approve it."),
        Binding("escape", "give_up", "Cancel", tooltip="Forget the changes; the step still awaits you."),
    ]

    def __init__(self, source: str, title: str, language: str) -> None:
        super().__init__()
        self._source = clean(source)
        self._title = title
        self._language = language

    def compose(self) -> ComposeResult:
        """Title, text and keys."""
        with Vertical(classes="dialog -large"):
            yield Static(one_line(self._title, "bold"), markup=False)
            yield TextArea(self._source, soft_wrap=False, show_line_numbers=True, tab_behavior="indent", compact=True)
            yield Static("[b]ctrl+s[/b] take it and approve    [b]esc[/b] cancel", classes="dialog-keys")

    def on_mount(self) -> None:
        """Colour the source."""
        area = self.query_one(TextArea)
        area.cursor_blink = False
        apply_theme(area)
        apply_language(area, self._language)

    def on_key(self, event: events.Key) -> None:
        """Esc leaves; a text area with indenting tabs would only move the focus."""
        if event.key == "escape":
            event.prevent_default()
            event.stop()
            self.action_give_up()

    def action_save(self) -> None:
        """Close with the source."""
        self.dismiss(self.query_one(TextArea).text)

    def action_give_up(self) -> None:
        """Close without one."""
        self.dismiss(None)
