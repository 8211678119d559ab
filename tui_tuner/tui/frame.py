"""The frame of every screen: the keys that act now, and header, tabs and empty panes until a session is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from textual.actions import parse
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.containers import Container, Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Offset
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from tui_tuner.tui.keys import ANSWERING, APP_BINDINGS, HELPING, SCREEN_BINDINGS, START_BINDINGS
from tui_tuner.tui.moving import Target, class_over_ssh
from tui_tuner.tui.text import clickable, one_line


class KeyLine(Widget):
    """The keys that act now, as many as fit; each can be clicked.

    Args:
        words_of: what a key does now, in a word or two; empty where that is nothing worth its place.
    """

    auto_links = False

    def __init__(self, words_of: Callable[[Binding], str] = attrgetter("description")) -> None:
        super().__init__()
        self._words_of = words_of

    def on_mount(self) -> None:
        """Follow the bindings of the screen, and of what is opened over it."""
        for signal in (self.screen.bindings_updated_signal, self.app.screen_change_signal):
            signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        """One line; help, commands and quit are always there."""
        return key_line(self._entries(), self.content_size.width)

    def _entries(self) -> list[KeyEntry]:
        """What acts now; of several keys Esc, which leaves every dialog, else the shortest."""
        shown: dict[str, KeyEntry] = {}
        for active in self.app.screen.active_bindings.values():
            binding = active.binding
            words = self._words_of(binding)
            if not (binding.show and active.enabled and words):
                continue
            key = self.app.get_key_display(binding)
            before = shown.get(binding.action)
            if before is None or binding.key == _ESC or (before.name != _ESC and len(key) < len(before.key)):
                action, rank = self._action(active.node, binding.action), _rank(binding)
                words = words[:1].lower() + words[1:]
                shown[binding.action] = KeyEntry(key, words, action, rank, binding.key, _place(binding))
        return sorted(_paired(shown.values()), key=_in_order)

    def _action(self, node: DOMNode, action: str) -> str:
        """An action with whose it is; a dialog may have one of the app's."""
        namespace, *_ = parse(action)
        whose = {self.app: "app", self.app.screen: "screen"}.get(node, "focused")
        return action if namespace else f"{whose}.{action}"


class Palette(CommandPalette):
    """Textual's own with its keys: those of the screen below are dimmed with all of it, where it is not far away."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "escape", "leave", tooltip="Do nothing.")]

    def on_mount(self) -> None:
        """Leave a screen that is far away as bright as it is."""
        self.set_class(class_over_ssh() is not None, "-far")

    def compose(self) -> ComposeResult:
        """The commands, the keys."""
        yield from super().compose()
        yield KeyLine()


class KeyEntry(NamedTuple):
    """A key, what it does, the action behind it; of too many keys those of the highest rank go first.

    Attributes:
        key: as people write it.
        name: as Textual does.
        place: among the others, from left to right.
        back: key and action of what does the opposite, in the same words.
    """

    key: str
    description: str
    action: str
    rank: int = 3
    name: str = ""
    place: int = -1
    back: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """What stands in the line."""
        return f"{f'{self.back[0]} ' if self.back else ''}{self.key} {self.description}"


_ESC = "escape"
_AT_THE_END = ("help", "quit")
_WHERE_THERE_IS_ROOM = ("row_open", "chart")
_NAMES = {*_WHERE_THERE_IS_ROOM, *(each.id for each in [*APP_BINDINGS, *SCREEN_BINDINGS, *START_BINDINGS])}
_ANSWER, _LAST, _WHY, _OTHER, _SPARE = range(5)
"""What answers a question is always there; help and quit stand at the end and go last, as does the way out of a dialog,
before them what explains it. What only looks closer goes first."""


def _paired(entries: Iterable[KeyEntry]) -> Iterable[KeyEntry]:
    """Those of the same words as one: of `.` and `,` the second goes back."""
    pairs: dict[str, KeyEntry] = {}
    for entry in entries:
        first = pairs.setdefault(entry.description, entry)
        if first is not entry:
            pairs[entry.description] = first._replace(back=(entry.key, entry.action))
    return pairs.values()


def _rank(binding: Binding) -> int:
    if binding.group in (ANSWERING, HELPING):
        return _ANSWER
    if binding.key == _ESC or binding.description in _AT_THE_END:
        return _LAST
    if binding.id in _WHERE_THERE_IS_ROOM:
        return _SPARE
    return _WHY if binding.id == "facts" else _OTHER


def _in_order(entry: KeyEntry) -> tuple[str, int, bool]:
    return entry.description if entry.description in _AT_THE_END else "", entry.place, entry.name == _ESC


def _place(binding: Binding) -> int:
    """First the keys of what is open over the panes, then what answers a question, wherever a keymap has put it."""
    answers = [each.id for each in SCREEN_BINDINGS if each.group in (ANSWERING, HELPING)]
    if binding.id in answers:
        return answers.index(binding.id)
    return len(answers) if binding.id in _NAMES else -1


def key_line(entries: list[KeyEntry], width: int) -> Content:
    """The keys that fit into `width` cells; before any of those goes that are always there, answers get shorter."""
    shown, gap = list(entries), "  "
    while _too_long(shown, gap, width):
        worst = max(entry.rank for entry in shown)
        shorter = [entry._replace(description=_SHORTER.get(entry.description, entry.description)) for entry in shown]
        if worst <= _LAST and shorter != shown:
            shown = shorter
        elif worst == _ANSWER:
            gap = " "
            break
        else:
            shown.remove([entry for entry in shown if entry.rank == worst][-1])
    return Content(gap).join(_key_item(entry) for entry in shown).truncate(width, ellipsis=True)


_SHORTER = {"approve all": "all", "other model": "model", "skip call": "skip"}
"""What answers a question, where there is little room for it."""


def _too_long(entries: list[KeyEntry], gap: str, width: int) -> bool:
    return len(gap.join(entry.text for entry in entries)) > width


def _key_item(entry: KeyEntry) -> Content:
    style = "bold $footer-key-foreground"  # a theme may have any colour below it, which this one alone is chosen for
    item = clickable(Content.assemble((entry.key, style), f" {entry.description}"), entry.action)
    return item if entry.back is None else clickable(Content.styled(f"{entry.back[0]} ", style), entry.back[1]) + item


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
