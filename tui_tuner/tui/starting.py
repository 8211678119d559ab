"""The frame of the screen while the session and what draws it are loaded: header, tabs, empty panes, keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

from textual.app import App, ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.geometry import Offset
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from tui_tuner.tui.jump import Target
from tui_tuner.tui.key_line import KeyLine
from tui_tuner.tui.text.plain import clickable, one_line

BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
"""From which width on, in cells, a screen has which class."""
HEIGHTS = [(0, "-short"), (32, "-tall")]
"""From which height on, in lines; a narrow screen that is tall has room for two panes."""

_LEAVES = ("quit", "copy_or_quit", "suspend_process")


def know_size(screen: Screen[Any]) -> None:
    """Give a screen the classes of its size before it has children: Textual does after, and styles all of them anew."""
    width, height = screen.app.size
    for extent, breakpoints in ((width, BREAKPOINTS), (height, HEIGHTS)):
        reached = [name for least, name in breakpoints if extent >= least]
        screen.update_classes({name: name == reached[-1] for _, name in breakpoints}, update=False)


class StartingScreen(Screen[None]):
    """Looks like the screen of a session of which nothing is known yet; imports nothing of sessions.

    Args:
        pane: title of the first one.
        title: what is begun, in a few words.
    """

    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, pane: str, title: str) -> None:
        super().__init__()
        self._titles = [pane, "Plan", "Benchmarks", "Chat"]
        self._title = title

    def leaves(self, key: str) -> bool:
        """Whether a key leaves, or goes back to the shell, which is all that can be done here."""
        known = self.active_bindings.get(key)
        return known is not None and known.binding.action in _LEAVES

    def compose(self) -> ComposeResult:
        """Header, tabs, empty panes, status, keys."""
        know_size(self)
        yield Static("starting", id="header")
        yield TabLine(self._titles)
        with Container(id="panes"):
            for number, title in enumerate(self._titles, start=1):
                pane = Vertical(classes={1: "pane -active", 2: "pane -second"}.get(number, "pane"))
                pane.border_title = Content.from_markup(f"[b]{number}[/b] {title}")
                yield pane
        yield Static(one_line(f"reading {self._title}"), id="question")
        yield Static("starting", id="status")
        yield KeyLine()


def tell_start(app: App[Any], doing: str) -> None:
    """Say what takes long before the session is there."""
    for screen in app.screen_stack:
        if isinstance(screen, StartingScreen):
            screen.query_one("#question", Static).update(one_line(doing))


class TabLine(Widget):
    """The names of the panes where only one of them is visible."""

    auto_links = False

    active: reactive[int] = reactive(1)
    awaiting: reactive[bool] = reactive(False)
    titles: reactive[list[str]] = reactive(list)

    def __init__(self, titles: list[str]) -> None:
        super().__init__(id="tabs")
        self.set_reactive(TabLine.titles, titles)

    def render(self) -> Content:
        """The active one in brackets; a mark at the plan while a step awaits the user."""
        return Content("").join(self._tabs())

    def targets(self, numbers: Sequence[int], go: Callable[[int], object]) -> Iterator[Target]:
        """For jump mode: the tabs of these panes."""
        x = self.content_region.x
        for number, tab in enumerate(self._tabs(), start=1):
            if number in numbers:
                yield Target(Offset(x, self.content_region.y), lambda number=number: go(number))  # type: ignore[misc]
            x += tab.cell_length

    def _tabs(self) -> list[Content]:
        """All of them, with as much space and as many names as there is room for."""
        for room in _ROOMS:
            tabs = [self._tab(number, title, room) for number, title in enumerate(self.titles, start=1)]
            if sum(tab.cell_length for tab in tabs) <= self.content_size.width + 1:  # a blank at the end may be cut
                break
        return tabs

    def _tab(self, number: int, title: str, room: Room) -> Content:
        active = number == self.active
        mark = "○" if self.awaiting and title == "Plan" else ""
        named = f"{number} {title}" if active or room != "numbers" else f"{number}"
        label = f"{named} {mark}".rstrip() if room == "wide" else named + mark
        around = " " if room == "wide" else ""
        content = Content.styled(f"[{label}]", "bold reverse") if active else Content(f"{around}{label}{around}")
        return clickable(content, f"screen.pane({number})") + " "


Room = Literal["wide", "tight", "numbers"]
_ROOMS: tuple[Room, ...] = get_args(Room)
