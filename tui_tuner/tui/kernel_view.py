"""How the screen shows the tuning of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui_tuner.format import counted, factor
from tui_tuner.problem.candidate import Candidate
from tui_tuner.session import events
from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.source import Source
from tui_tuner.tui.benchmark_rows import tunables, visible_rows
from tui_tuner.tui.best_chart import best_chart
from tui_tuner.tui.dialogs.texts import evaluation_text, result_text
from tui_tuner.tui.evaluation_table import EvaluationContext, EvaluationTable
from tui_tuner.tui.formatting import time_label
from tui_tuner.tui.panes.benchmark_contents import BenchmarkContents, shown_of
from tui_tuner.tui.picture import ViewModel
from tui_tuner.tui.plain import one_line
from tui_tuner.tui.subject import SubjectView

_FILES = {"cuda": "kernel.cu", "opencl": "kernel.cl", "c": "kernel.cpp"}


class KernelView(SubjectView):
    """Kernels, their evaluations, and the incumbent; all of it is in the view model."""

    noun = "kernel"
    pane = "Kernel"
    sandbox_label = "builds: "

    def apply(self, event: Event) -> None:
        """Nothing that the view model has not."""

    def contents(self) -> BenchmarkContents:
        """The evaluations."""
        return EvaluationContents()

    def best(self, view_model: ViewModel) -> Source | None:
        """The incumbent."""
        return None if view_model.incumbent is None else view_model.incumbent.candidate

    def best_words(self, view_model: ViewModel) -> str:
        """The incumbent's speed-up and title."""
        best = view_model.incumbent
        return "no incumbent yet" if best is None else f"incumbent {factor(best.speedup[0])}: {best.candidate.title}"

    def file_name(self, language: str) -> str:
        """With the ending of the language."""
        return _FILES[language]

    def gain(self, view_model: ViewModel) -> float | None:
        """The incumbent's speed-up."""
        return None if view_model.incumbent is None else view_model.incumbent.speedup[0]

    def effort(self, view_model: ViewModel) -> list[tuple[int, str]]:
        """Evaluations."""
        return [(3, counted(view_model.evaluations, "eval"))]

    def result(self, finished: SessionFinished, view_model: ViewModel) -> Content:
        """Speed-up, effort, and where the best kernel is."""
        return result_text(finished, view_model)


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
