"""The four panes of the main screen: which one is active, where the focus goes, and how they were left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from tui_tuner.resources import write_whole
from tui_tuner.session.events import Event
from tui_tuner.tui.moving import Target, top_left
from tui_tuner.tui.plan_lines import ReviewFacts
from tui_tuner.tui.text import clickable, one_line
from tui_tuner.tui.view_model import ViewModel


class PaneGrid(Container):
    """Panes side by side; where there is room for one the active one, for two the kernel and the last other one."""

    @dataclass
    class Activated(Message):
        """Another pane is active."""

        number: int

    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__(id="panes", classes="-kernel")
        self._panes = {pane.number: pane for pane in panes}
        self.active = 1
        self._visited_from: int | None = None
        self._beside_kernel = 2
        self._mark(self.active, self._beside_kernel)

    def compose(self) -> ComposeResult:
        """All panes, and what stands beside the first one while a source is reviewed."""
        yield from self._panes.values()
        yield ReviewFacts()

    @property
    def all(self) -> list[Pane]:
        """The panes in their order."""
        return list(self._panes.values())

    @property
    def visited_from(self) -> int | None:
        """The pane from which the user came to an input, None while they are in none."""
        return self._visited_from

    @property
    def titles(self) -> list[str]:
        """Their names."""
        return [pane.title for pane in self._panes.values()]

    def draw(self, view_model: ViewModel, news: Sequence[Event]) -> None:
        """Let every pane draw the difference."""
        for pane in self._panes.values():
            pane.show(view_model, news)

    def activate(self, number: int) -> None:
        """Make a pane the active one, before its focus: a hidden widget cannot have it."""
        self.active, self._visited_from = number, None
        self._beside_kernel = self._beside_kernel if number == 1 else number
        self._mark(number, self._beside_kernel if number == 1 else 1)
        self.app.stylesheet.update_nodes(self.children)  # what is in them has no style that depends on it
        self.post_message(self.Activated(number))

    def _mark(self, active: int, second: int) -> None:
        self.set_class(active == 1, "-kernel", update=False)
        for pane in self._panes.values():
            pane.update_classes({"-active": pane.number == active, "-second": pane.number == second}, update=False)

    def go_to(self, number: int) -> None:
        """Activate a pane and give it the focus."""
        self.activate(number)
        self._panes[number].focus_target().focus(scroll_visible=False)

    def visit(self, number: int) -> None:
        """Activate a pane whose input gets the focus; `come_back` returns to the one before."""
        before = self._visited_from if self.active == number else self.active
        self.activate(number)
        self._visited_from = before

    def come_back(self) -> None:
        """Return from a visit, unless another pane was chosen meanwhile: then only the input is left."""
        self.go_to(self._visited_from or self.active)

    def targets(self) -> Iterator[Target]:
        """What jump mode offers: the panes that are visible, then the places in them."""
        seen = [pane for pane in self._panes.values() if pane.display]
        for pane in seen:
            yield Target(top_left(pane), lambda number=pane.number: self.go_to(number))  # type: ignore[misc]
        for pane in seen:
            yield from pane.targets()

    def reveal(self, number: int) -> None:
        """Go to a pane if it is not visible."""
        if not self._panes[number].display:
            self.go_to(number)

    @on(DescendantFocus)
    def _follow_focus(self, event: DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors_with_self if isinstance(node, Pane)), None)
        if pane is not None and pane.number != self.active:
            self.activate(pane.number)


class Pane(Vertical):
    """One of the four parts of the screen.

    Args:
        number: its key, 1 to 4.
        title: its name in the border and on its tab.

    Attributes:
        kind: the group of its keys, whatever its title.
        unused: names of those of them that never act in this session.
    """

    kind: ClassVar[str]
    unused: frozenset[str] = frozenset()

    def __init__(self, number: int, title: str) -> None:
        super().__init__(id=f"pane-{number}", classes="pane")
        self.number = number
        self.title = title
        self._below = ""

    def on_mount(self) -> None:
        """Write the border."""
        self.refresh_title()

    def on_click(self) -> None:
        """What takes no focus itself, as a frame or a chart, gives it to its pane."""
        if not self.has_focus_within:
            self.focus_target().focus(scroll_visible=False)

    def refresh_title(self) -> None:
        """Write the border's title: the number, the name and what the pane adds."""
        name = clickable(Content.from_markup(f"[b]{self.number}[/b] {self.title}"), f"screen.pane({self.number})")
        self.border_title = Content.assemble(name, self.title_extra())

    def write_below(self, words: str) -> None:
        """Write the border's subtitle; a widget whose border is written is drawn anew, with all that is in it."""
        if words != self._below:
            self._below = words
            self.border_subtitle = one_line(words)

    def title_extra(self) -> Content:
        """What stands behind the name in the border."""
        return Content()

    def focus_target(self) -> Widget:
        """The widget that has the focus when the pane is chosen."""
        raise NotImplementedError

    def targets(self) -> Iterator[Target]:
        """The places inside that jump mode offers, beside the pane itself."""
        yield from ()

    def copied_text(self) -> tuple[str, str]:
        """What the key that copies takes from here, and what that is in words; nothing where it takes nothing."""
        return "", ""

    def show(self, view_model: ViewModel, news: Sequence[Event]) -> None:
        """Draw what differs from what is shown.

        Args:
            news: the events since the last call, already in the view model.
        """
        raise NotImplementedError


class Look(BaseModel):
    """What is remembered.

    Attributes:
        order: name of the order of the table; one that a table does not have is its first.
        turned: whether that is turned round.
        chart: name of the chart; as with the order.
        split: whether diffs stand side by side.
    """

    model_config = ConfigDict(frozen=True)

    order: str = ""
    turned: bool = False
    chart: str = ""
    split: bool = False


def remembered(file: Path | None) -> tuple[Look, str]:
    """The look that is kept, and what is wrong with the file, if anything; nothing is kept where there is none."""
    if file is None:
        return Look(), ""
    try:
        return Look.model_validate_json(file.read_bytes()), ""
    except FileNotFoundError:
        return Look(), ""
    except OSError as error:
        return Look(), f"How the screen was left cannot be read: {file}: {error.strerror}"
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "it"
        return Look(), f"How the screen was left cannot be used: {file}: {where}: {fault['msg']}; begun anew"


def remember(file: Path, look: Look) -> None:
    """Keep a look, if it can be written: nothing depends on it."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, look.model_dump_json(indent=1) + "\n")
