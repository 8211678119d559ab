"""How the screen shows the tuning of a kernel."""

from __future__ import annotations

from textual.content import Content

from tui_tuner.format import counted, factor
from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.source import Source
from tui_tuner.tui.dialogs.texts import result_text
from tui_tuner.tui.panes.benchmark_contents import BenchmarkContents, EvaluationContents
from tui_tuner.tui.picture import ViewModel
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
