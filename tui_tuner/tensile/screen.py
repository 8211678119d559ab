"""How the screen shows a session in which a configuration is edited."""

from __future__ import annotations

import re

from textual.content import Content
from textual.widget import Widget

from tui_tuner.format import counted, duration, factor, factor_interval
from tui_tuner.session.events import Event, SessionFinished, SessionStarted
from tui_tuner.strategies.steps import Step
from tui_tuner.subjects import Source
from tui_tuner.tensile.events import BenchmarkFinished
from tui_tuner.tensile.outcome import outcome_words, round_words
from tui_tuner.tensile.screen_model import TensileViewModel
from tui_tuner.tensile.screen_table import SizeContents
from tui_tuner.tui.chat_entries import Fold, note_entry
from tui_tuner.tui.subject import BenchmarkContents, SubjectView
from tui_tuner.tui.texts import model_effort, pairs_table, way_on
from tui_tuner.tui.view_model import ViewModel

_CHANGE = re.compile(r"([\d,]+) -> ([\d,]+) permutations")


class TensileView(SubjectView):
    """Configurations, the runs of Tensile, and the best solution at every problem size."""

    noun = "configuration"
    pane = "Configuration"
    source_help = """
## Configuration

- **source**: the edited configuration under consideration; without one, the one as given
- **diff**: that configuration, or else the one in force, against the one as given
- **best**: the one in force, which the next edits start from: the last that gave results

`d` goes on to the next view.
"""
    table_help = """
## Benchmarks

The rows are problem sizes with the best solution so far. `o` sorts as in the file or by gain over the
first run, `/` filters by words such as `DepthU=64`, `256x128` or `round=2`. Enter shows everything
about a row.
"""
    lined_details = True

    def __init__(self) -> None:
        self.model = TensileViewModel()

    def apply(self, event: Event) -> None:
        """Fold it into the view model."""
        self.model.apply(event)

    def contents(self) -> BenchmarkContents:
        """The problem sizes."""
        return SizeContents(self.model)

    def best(self, view_model: ViewModel) -> Source | None:
        """The configuration in force."""
        return self.model.best

    def best_words(self, view_model: ViewModel) -> str:
        """Since which round it is in force."""
        run = self.model.in_force
        if run is None:
            return "no results yet"
        return f"in force since round {run.round}" if run.round else "in force: as given"

    def file_name(self, language: str) -> str:
        """A YAML file."""
        return "configuration.yaml"

    def gain(self, view_model: ViewModel) -> float | None:
        """Mean of all sizes over the first run."""
        return self.model.gain

    def effort(self, view_model: ViewModel) -> list[tuple[int, str]]:
        """Runs and permutations."""
        runs, permutations = len(self.model.ended), self.model.permutations
        return [(3, counted(runs, "run")), (4, counted(permutations, "permutation"))]

    def result(self, finished: SessionFinished, view_model: ViewModel) -> Content:
        """The gain, what was measured, and where the best configuration is."""
        return tensile_result(finished, view_model.started, self.model)

    def entry(self, event: Event) -> Widget | None:
        """How a run ended; of a failed one what Tensile said last is folded."""
        if not isinstance(event, BenchmarkFinished):
            return None
        text, failure = f"{round_words(event.round)}: {outcome_words(event.outcome)}", event.outcome.failure
        if failure is not None and failure.detail:
            return Fold(f"! {text}", failure.detail, classes="entry")
        return note_entry(text, warning=failure is not None)

    def question_words(self, step: Step) -> str:
        """What the edits do to the number of permutations."""
        return permutations_change(step.detail)


def permutations_change(detail: str) -> str:
    """From the count before the first edit to that after the last, of a detail that counts; else empty."""
    changes = _CHANGE.findall(detail)
    return f"{changes[0][0]} -> {changes[-1][1]} permutations" if changes else ""


def tensile_result(finished: SessionFinished, started: SessionStarted | None, model: TensileViewModel) -> Content:
    """What came of the session, where it lies, and how to see it again."""
    gain = ""
    if finished.speedup is not None:
        gain = factor_interval(finished.speedup)
    elif model.gain is not None:
        gain = factor(model.gain)
    of = f", geometric mean of {len(model.winners)} sizes" if len(model.winners) > 1 else ""
    runs = f"{counted(len(model.ended), 'run')}, {duration(model.seconds)}"
    pairs = [
        ("gain", f"{gain} in GFLOP/s over the configuration as given{of}" if gain else ""),
        ("reason", finished.reason),
        ("measured", f"{counted(finished.evaluations, 'permutation')} in {runs}"),
        ("model", model_effort(finished)),
        ("result", finished.result or ""),
    ]
    if started is not None:
        best = f"best.yaml in {started.directory}" if finished.result else ""
        pairs += [("best", best), way_on(finished, started)]
    return pairs_table(pairs)
