"""What pane 3 shows: evaluations of a kernel, or the problem sizes of a Tensile configuration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.content import Content
from textual.widgets import DataTable

from tui_tuner.session import events
from tui_tuner.tensile.words import gflops_words
from tui_tuner.tui.benchmark_rows import tunables, visible_rows
from tui_tuner.tui.best_chart import best_chart
from tui_tuner.tui.dialogs.tensile_texts import size_dialog
from tui_tuner.tui.dialogs.texts import evaluation_text
from tui_tuner.tui.evaluation_table import EvaluationContext, EvaluationTable
from tui_tuner.tui.formatting import time_label
from tui_tuner.tui.picture import Picture
from tui_tuner.tui.plain import one_line
from tui_tuner.tui.size_rows import runs_line, size_rows, visible_sizes
from tui_tuner.tui.size_table import SizeTable


class BenchmarkContents(ABC):
    """A table with its orders, the curve over it, and what Enter tells about a row.

    Attributes:
        relevant: the events that change the table or its legend.
    """

    relevant: ClassVar[tuple[type[events.Event], ...]]
    table: DataTable[Text]

    @property
    @abstractmethod
    def orders(self) -> tuple[str, ...]:
        """The names of its orders; the table begins with the first."""

    @abstractmethod
    def draw(self, picture: Picture, words: Sequence[str], order: int) -> str:
        """Draw the rows that contain all words, in one of the orders; the line below the table.

        Args:
            order: its place among `orders`.
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

    @property
    def orders(self) -> tuple[str, ...]:
        """Those that the columns offer."""
        return tuple(order.name for order in self.table.orders)

    def draw(self, picture: Picture, words: Sequence[str], order: int) -> str:
        """The line below says how many rows are shown, and what the short names of tunables stand for."""
        rows = visible_rows(picture.rows.values(), picture.titles, self.table.orders[order], words)
        columns = tunables(picture.rows.values(), picture.baseline.tunables if picture.baseline else {})
        unit = time_label(picture.device).partition(" (")[0]  # the chart above says it in full
        self.table.draw(rows, EvaluationContext(columns, unit, picture.titles))
        return _of(len(rows), len(picture.rows)) + columns.legend

    def chart(self, picture: Picture, width: int, height: int) -> Content:
        """The best time."""
        return best_chart(picture.best_times, time_label(picture.device), width, height)

    def about(self, picture: Picture, key: str) -> tuple[Content, Content]:
        """Configuration, times and resources, or the failure."""
        row = picture.rows[int(key)]
        text = evaluation_text(row, picture.titles.get(row.candidate, ""), time_label(picture.device))
        return one_line(f"evaluation {row.number}"), text


class ProblemSizeContents(BenchmarkContents):
    """In the order of the file, or the largest gain first."""

    relevant = (
        events.BenchmarkStarted,
        events.BenchmarkOutput,
        events.BenchmarkFinished,
        events.WinnersChanged,
        events.SessionFinished,
    )

    def __init__(self) -> None:
        self.table: SizeTable = SizeTable()

    @property
    def orders(self) -> tuple[str, ...]:
        """As the sizes stand in the file, or by gain."""
        return "file", "gain"

    def draw(self, picture: Picture, words: Sequence[str], order: int) -> str:
        """The line below says what the last run had to do and how long it took."""
        rows = size_rows(picture.tensile)
        shown = visible_sizes(rows, "gain" if order else "file", words)
        self.table.draw(shown, max(picture.tensile.means, default=0))
        return _of(len(shown), len(rows)) + runs_line(picture.tensile)

    def chart(self, picture: Picture, width: int, height: int) -> Content:
        """The geometric mean of the best GFLOP/s after each run."""
        title = "mean of best" if len(picture.tensile.winners) > 1 else "best so far"
        means = list(picture.tensile.means.values())
        return best_chart(means, "GFLOP/s", width, height, title=title, words=gflops_words)

    def about(self, picture: Picture, key: str) -> tuple[Content, Content]:
        """The winner, the ranking of the last run and what was rejected."""
        row = next(row for row in size_rows(picture.tensile) if row.key == key)
        return size_dialog(row, picture.tensile)


def _of(shown: int, there: int) -> str:
    return f"{shown} of {there} rows  " if shown < there else ""
