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
from tui_tuner.tui.picture import ViewModel
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


class EvaluationContents(BenchmarkContents):
    """In one of the orders that the columns offer."""

    relevant = (events.EvaluationStarted, events.EvaluationFinished, events.IncumbentChanged, events.DeviceReady)

    def __init__(self) -> None:
        self.table: EvaluationTable = EvaluationTable()

    def draw(self, view_model: ViewModel, words: Sequence[str], order: int) -> str:
        """The line below says how many rows are shown, and what the short names of tunables stand for."""
        rows = visible_rows(view_model.rows.values(), view_model.titles, self.table.orders[order], words)
        given = view_model.baseline
        columns = tunables(view_model.rows.values(), given.tunables if isinstance(given, Candidate) else {})
        unit = time_label(view_model.device).partition(" (")[0]  # the chart above says it in full
        self.table.draw(rows, EvaluationContext(columns, unit, view_model.titles))
        return shown_of(len(rows), len(view_model.rows)) + columns.legend

    def chart(self, view_model: ViewModel, width: int, height: int) -> Content:
        """The best time."""
        return best_chart(view_model.best_times, time_label(view_model.device), width, height)

    def about(self, view_model: ViewModel, key: str) -> tuple[Content, Content]:
        """Configuration, times and resources, or the failure."""
        row = view_model.rows[int(key)]
        text = evaluation_text(row, view_model.titles.get(row.candidate, ""), time_label(view_model.device))
        return one_line(f"evaluation {row.number}"), text


def shown_of(shown: int, there: int) -> str:
    """How many rows are shown, where that is not all of them."""
    return f"{shown} of {there} rows  " if shown < there else ""
