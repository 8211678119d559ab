"""The frame of the screen while the session and what draws it are loaded: header, empty panes, keys."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tui_tuner.tui.keys import KeyLine, TabLine

TITLES = ("Kernel", "Plan", "Benchmarks", "Chat")
"""The names of the panes, in their order."""
BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
"""From which width on, in cells, a screen has which class."""


class StartingScreen(Screen[None]):
    """Looks like the screen of a session of which nothing is known yet; imports nothing of sessions."""

    HORIZONTAL_BREAKPOINTS = BREAKPOINTS

    def compose(self) -> ComposeResult:
        """Header, tabs, empty panes, keys."""
        yield Static("starting", id="header")
        yield TabLine([*TITLES])
        with Container(id="panes"):
            for number, title in enumerate(TITLES, start=1):
                pane = Vertical(classes="pane -active" if number == 1 else "pane")
                pane.border_title = Content.from_markup(f"[b]{number}[/b] {title}")
                yield pane
        yield KeyLine()
