"""The names of the panes as tabs, for screens that show one pane at a time."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_tuner.tui.plain import clickable


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
        return Content("").join(self._tab(number, title) for number, title in enumerate(self.titles, start=1))

    def _tab(self, number: int, title: str) -> Content:
        mark = " ○" if self.awaiting and title == "Plan" else ""
        label = f"{number} {title}{mark}"
        active = number == self.active
        content = Content.styled(f"[{label}]", "bold reverse") if active else Content(f" {label} ")
        return clickable(content, f"screen.pane({number})") + " "
