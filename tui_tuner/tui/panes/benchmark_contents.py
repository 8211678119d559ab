"""What pane 3 shows: a table with its orders and its curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from textual.content import Content

from tui_tuner.session import events
from tui_tuner.tui.columns import ColumnTable
from tui_tuner.tui.picture import ViewModel


class BenchmarkContents(ABC):
    """A table with its orders, the curve over it, and what Enter tells about a row.

    Attributes:
        table: begins with the first of its orders.
        relevant: the events that change the table or its legend.
    """

    relevant: ClassVar[tuple[type[events.Event], ...]]
    table: ColumnTable[Any, Any]

    @abstractmethod
    def draw(self, view_model: ViewModel, words: Sequence[str], order: int) -> str:
        """Draw the rows that contain all words, in one of the orders; the line below the table.

        Args:
            order: its place among those that the table offers.
        """

    @abstractmethod
    def chart(self, view_model: ViewModel, width: int, height: int) -> Content:
        """The curve of the best so far."""

    @abstractmethod
    def about(self, view_model: ViewModel, key: str) -> tuple[Content, Content]:
        """Title and text of everything there is to say about a row."""


def shown_of(shown: int, there: int) -> str:
    """How many rows are shown, where that is not all of them."""
    return f"{shown} of {there} rows  " if shown < there else ""
