"""Going about by keys: the same ones in every list and in every text that is read, and letters to jump anywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from string import ascii_letters
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Click, Key, Resize
from textual.geometry import Offset, Size
from textual.screen import ModalScreen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_tuner.tui.text import Paragraphs


class LineList(OptionList, inherit_bindings=False):
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

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        """Textual 8.2's own, which leaves `reverse` out: what alone marks a line where colours are the terminal's."""
        style = super().get_visual_style(*component_classes, partial=partial)
        turned = any(self.get_component_styles(name).text_style.reverse for name in component_classes)
        return style + Style(reverse=True) if turned else style

    def action_cursor_down(self) -> None:
        """Textual's own, which goes on from the top behind the last one."""
        if self.highlighted is None or self.highlighted < self.option_count - 1:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        """Textual's own, which goes on from the end before the first one."""
        if self.highlighted != 0:
            super().action_cursor_up()


class Menu(LineList):
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


class Page(Reading):
    """One that is broken into lines as wide as there is room."""

    def compose(self) -> ComposeResult:
        """The text."""
        yield Paragraphs()

    def show(self, content: Content) -> None:
        """Show another text from its top."""
        self.query_one(Paragraphs).show(content)
        self.scroll_home(animate=False)


LETTERS = "".join(dict.fromkeys("asdfghjklwertyuiopzxcvbnm" + ascii_letters)).replace("q", "")
"""The letters, the home row first; `q` leaves."""


class Target(NamedTuple):
    """A place that can be gone to: where its letter stands on the screen, and what goes there."""

    offset: Offset
    go: Callable[[], object]


def top_left(widget: Widget) -> Offset:
    """Where the letter of a whole widget stands: on its border, before its title."""
    return widget.region.offset + Offset(1, 0)


def option_targets(options: OptionList, go: Callable[[int], object]) -> Iterable[Target]:
    """The options in view, their letters before them.

    Args:
        go: selects the option of this index.
    """
    seen: set[int] = set()
    region, top = options.content_region, options.scroll_offset.y
    for line, (index, _) in enumerate(options._lines[top : top + region.height]):  # Textual 8.2 tells nobody else
        if index not in seen:
            seen.add(index)
            yield Target(region.offset + Offset(-1, line), lambda index=index: go(index))  # type: ignore[misc]


def class_over_ssh() -> str | None:
    """The class of a screen over another one that leaves it as bright as it is, where the terminal is far away.

    To dim it writes all of it anew, seconds of a slow line.
    """
    return "-far" if "SSH_CONNECTION" in os.environ else None


class JumpScreen(ModalScreen[Target | None]):
    """The letters over what is there; the result is the place whose letter was pressed, None for any other key."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "Leave", tooltip="Stay where you are.")]

    def __init__(self, targets: Iterable[Target]) -> None:
        super().__init__(classes=class_over_ssh())
        self._targets = dict(zip(LETTERS, targets, strict=False))
        self._laid_out_in: Size | None = None

    def compose(self) -> ComposeResult:
        """A letter a place."""
        for letter, target in self._targets.items():
            label = Static(letter, classes="jump-letter", markup=False)
            label.styles.offset = (target.offset.x, target.offset.y)
            yield label

    def on_resize(self, event: Resize) -> None:
        """Letters that stand elsewhere now mean nothing."""
        if self._laid_out_in not in (None, event.size):
            self.dismiss(None)
        self._laid_out_in = event.size

    def on_key(self, event: Key) -> None:
        """Go to the place of the letter, or nowhere."""
        event.stop()
        event.prevent_default()
        self.dismiss(self._targets.get(event.character or ""))

    def on_click(self, event: Click) -> None:
        """Go to the place whose letter is clicked."""
        at = (target for target in self._targets.values() if target.offset == event.screen_offset)
        self.dismiss(next(at, None))

    def action_leave(self) -> None:
        """Go nowhere."""
        self.dismiss(None)


def gone_to(target: Target | None) -> None:
    """Go to what was chosen."""
    if target is not None:
        target.go()
