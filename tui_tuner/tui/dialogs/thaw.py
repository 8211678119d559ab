"""The choice of a frozen tunable to search again."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_tuner.format import tunable_value
from tui_tuner.problem.model import Configuration
from tui_tuner.tui.plain import clickable, plain


class ThawDialog(ModalScreen[str | None]):
    """A list over the screen; the result is the chosen tunable's name, or None if the user gave up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", tooltip="Hold them all as they are.")
    ]

    def __init__(self, frozen: Configuration) -> None:
        super().__init__()
        self._frozen = dict(frozen)

    def compose(self) -> ComposeResult:
        """Heading, tunables and keys."""
        width = max(len(name) for name in self._frozen)
        lines = [f"{name:<{width}} = {tunable_value(value)}" for name, value in self._frozen.items()]
        with Vertical(classes="dialog"):
            yield Static("Search a held tunable again", classes="dialog-title")
            yield OptionList(*(Option(plain(line)) for line in lines), compact=True, markup=False, id="thaw")
            yield Static(_keys(), markup=False, classes="dialog-keys")

    def on_mount(self) -> None:
        """Begin with the first."""
        self.query_one(OptionList).highlighted = 0

    @on(OptionList.OptionSelected)
    def _thaw(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(list(self._frozen)[message.option_index])

    def action_give_up(self) -> None:
        """Close without a choice."""
        self.dismiss(None)


def _keys() -> Content:
    leave = clickable(Content.assemble(("esc", "bold"), " leave"), "screen.give_up")
    return Content("    ").join([Content.assemble(("enter", "bold"), " thaw"), leave])
