"""The panes together: which one is active, and where the focus goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import DescendantFocus
from textual.message import Message

from tui_tuner.session.events import Event
from tui_tuner.tui.panes.pane import Pane
from tui_tuner.tui.picture import ViewModel


class PaneGrid(Container):
    """Panes side by side; where only one is visible, the active one."""

    @dataclass
    class Activated(Message):
        """Another pane is active."""

        number: int

    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__(id="panes")
        self._panes = {pane.number: pane for pane in panes}
        self.active = 1
        self._visited_from: int | None = None

    def compose(self) -> ComposeResult:
        """All panes."""
        yield from self._panes.values()

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
        for pane in self._panes.values():
            pane.set_class(pane.number == number, "-active")
        self.post_message(self.Activated(number))

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

    def reveal(self, number: int) -> None:
        """Go to a pane if it is not visible."""
        if not self._panes[number].display:
            self.go_to(number)

    @on(DescendantFocus)
    def _follow_focus(self, event: DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors_with_self if isinstance(node, Pane)), None)
        if pane is not None and pane.number != self.active:
            self.activate(pane.number)
