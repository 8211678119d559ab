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
HEIGHTS = [(0, "-short"), (32, "-tall")]
"""From which height on, in lines; a narrow screen that is tall has room for two panes."""


class StartingScreen(Screen[None]):
    """Looks like the screen of a session of which nothing is known yet; imports nothing of sessions."""

    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def compose(self) -> ComposeResult:
        """Header, tabs, empty panes, status, keys."""
        yield Static("starting", id="header")
        yield TabLine([*TITLES])
        with Container(id="panes"):
            for number, title in enumerate(TITLES, start=1):
                pane = Vertical(classes={1: "pane -active", 2: "pane -second"}.get(number, "pane"))
                pane.border_title = Content.from_markup(f"[b]{number}[/b] {title}")
                yield pane
        yield Static(id="question")
        yield Static("starting", id="status")
        yield KeyLine()
