"""The line over a table in which a filter is typed, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.getters import query_one
from textual.message import Message
from textual.widgets import Input, Static

from tui_tuner.tui.text.plain import one_line

_BETWEEN = 6
"""Cells between what is typed and what is wrong with it, its margins and the cursor."""


class FilterInput(Input):
    """The words that rows must contain; Esc empties and leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, id="filter_leave", tooltip="Show all rows again.")
    ]

    def action_leave(self) -> None:
        """Say so."""
        self.post_message(FilterLine.Left())


class FilterLine(Container):
    """Hidden until it is wanted; what is wrong stands beside what is typed, and below it where there is no room.

    Args:
        words: what a filter may be, in a few words.
        fault_in: what is wrong with one; empty where nothing is.
    """

    input = query_one(FilterInput)
    _fault = query_one("#filter-fault", Static)

    @dataclass
    class Left(Message):
        """The user is done with the filter."""

    def __init__(self, words: str, fault_in: Callable[[str], str]) -> None:
        super().__init__(id="filter-line")
        self.display = False
        self._words, self._fault_in = words, fault_in

    def compose(self) -> ComposeResult:
        """What is typed, and the fault."""
        yield FilterInput(placeholder=f"{self._words}; Esc shows all", id="filter", compact=True)
        yield Static(id="filter-fault", markup=False)

    def on_mount(self) -> None:
        """No blinking."""
        self.input.cursor_blink = False

    def open(self) -> None:
        """Let the user type."""
        self.display = True
        self.input.focus()

    def clear(self) -> None:
        """Filter no more."""
        self.input.value = ""
        self.display = False

    @on(Input.Changed)
    def on_resize(self) -> None:
        """Say what is wrong, where there is room for it."""
        fault = one_line(self._fault_in(self.input.value))
        self._fault.update(fault)
        self.set_class(fault.cell_length + len(self.input.value) + _BETWEEN > self.size.width, "-long")
