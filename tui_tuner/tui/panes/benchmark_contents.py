"""What pane 3 shows: a table with its orders and its curve; that of the evaluations of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from textual.content import Content

from tui_tuner.problem.candidate import Candidate
from tui_tuner.session import events
from tui_tuner.tui.benchmark_rows import tunables, visible_rows
from tui_tuner.tui.best_chart import best_chart
from tui_tuner.tui.columns import ColumnTable
from tui_tuner.tui.dialogs.texts import evaluation_text
from tui_tuner.tui.evaluation_table import EvaluationContext, EvaluationTable
from tui_tuner.tui.formatting import time_label
from tui_tuner.tui.picture import Picture
from tui_tuner.tui.plain import one_line


class BenchmarkContents(ABC):
    """A table with its orders, the curve over it, and what Enter tells about a row.

    Attributes:
        table: begins with the first of its orders.
        relevant: the events that change the table or its legend.
    """

    relevant: ClassVar[tuple[type[events.Event], ...]]
    table: ColumnTable[Any, Any]

    @abstractmethod
    def draw(self, picture: Picture, words: Sequence[str], order: int) -> str:
        """Draw the rows that contain all words, in one of the orders; the line below the table.

        Args:
            order: its place among those that the table offers.
        """

    @abstractmethod
    def chart(self, picture: Picture, width: int, height: int) -> Content:
        """The curve of the best so far."""

    @abstractmethod
    def about(self, picture: Picture, key: str) -> tuple[Content, Content]:
        """Title and text of everything there is to say about a row."""


class EvaluationContents(BenchmarkContents):
    """In one of the orders that the columns offer."""

    relevant = (events.EvaluationStarted, events.EvaluationFinished, events.IncumbentChanged, events.DeviceReady)

    def __init__(self) -> None:
        self.table: EvaluationTable = EvaluationTable()

    def draw(self, picture: Picture, words: Sequence[str], order: int) -> str:
        """The line below says how many rows are shown, and what the short names of tunables stand for."""
        rows = visible_rows(picture.rows.values(), picture.titles, self.table.orders[order], words)
        given = picture.baseline
        columns = tunables(picture.rows.values(), given.tunables if isinstance(given, Candidate) else {})
        unit = time_label(picture.device).partition(" (")[0]  # the chart above says it in full
        self.table.draw(rows, EvaluationContext(columns, unit, picture.titles))
        return shown_of(len(rows), len(picture.rows)) + columns.legend

    def chart(self, picture: Picture, width: int, height: int) -> Content:
        """The best time."""
        return best_chart(picture.best_times, time_label(picture.device), width, height)

    def about(self, picture: Picture, key: str) -> tuple[Content, Content]:
        """Configuration, times and resources, or the failure."""
        row = picture.rows[int(key)]
        text = evaluation_text(row, picture.titles.get(row.candidate, ""), time_label(picture.device))
        return one_line(f"evaluation {row.number}"), text


def shown_of(shown: int, there: int) -> str:
    """How many rows are shown, where that is not all of them."""
    return f"{shown} of {there} rows  " if shown < there else ""
