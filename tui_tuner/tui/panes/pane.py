"""What the four panes have in common: a numbered border title and one widget that takes the focus."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from tui_tuner.session.events import Event
from tui_tuner.tui.picture import ViewModel
from tui_tuner.tui.plain import clickable


class Pane(Vertical):
    """One of the four parts of the screen.

    Args:
        number: its key, 1 to 4.
        title: its name in the border and on its tab.
    """

    def __init__(self, number: int, title: str) -> None:
        super().__init__(id=f"pane-{number}", classes="pane")
        self.number = number
        self.title = title

    def on_mount(self) -> None:
        """Write the border."""
        self.refresh_title()

    def refresh_title(self) -> None:
        """Write the border's title: the number, the name and what the pane adds."""
        name = clickable(Content.from_markup(f"[b]{self.number}[/b] {self.title}"), f"screen.pane({self.number})")
        self.border_title = Content.assemble(name, self.title_extra())

    def title_extra(self) -> Content:
        """What stands behind the name in the border."""
        return Content()

    def focus_target(self) -> Widget:
        """The widget that has the focus when the pane is chosen."""
        raise NotImplementedError

    def show(self, view_model: ViewModel, news: Sequence[Event]) -> None:
        """Draw what differs from what is shown.

        Args:
            news: the events since the last call, already in the view model.
        """
        raise NotImplementedError
