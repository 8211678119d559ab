"""How the screen shows a session in which a configuration is edited: its words, its chart, all about one size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from textual.content import Content
from textual.widget import Widget

from tui_tuner.format import counted, duration, factor, factor_interval
from tui_tuner.session.events import Event, SessionFinished, SessionStarted
from tui_tuner.strategies.steps import Step
from tui_tuner.subjects import Source
from tui_tuner.tensile import TENSILE
from tui_tuner.tensile.document import value_text
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.outcome import (
    Contender,
    SizeOutcome,
    Winner,
    gflops_words,
    round_words,
    size_text,
    values_words,
)
from tui_tuner.tensile.screen_table import (
    SizeContext,
    SizeRow,
    SizeTable,
    TensileViewModel,
    runs_line,
    size_rows,
    sizes_csv,
    visible_sizes,
)
from tui_tuner.text import in_line
from tui_tuner.tui.panes.charts import best_chart
from tui_tuner.tui.panes.chat_entries import Fold, note_entry
from tui_tuner.tui.status import model_effort, way_on
from tui_tuner.tui.subject import BenchmarkContents, SubjectView, shown_of
from tui_tuner.tui.tables import RowOrder
from tui_tuner.tui.text import Pairs, hanging, listed, one_line, pairs_table, plain
from tui_tuner.tui.view_model import ViewModel

_CHANGE = re.compile(r"([\d,]+) -> ([\d,]+) permutations")


class TensileView(SubjectView):
    """Configurations, the runs of Tensile, and the best solution at every problem size."""

    noun = "configuration"
    pane = TENSILE.pane
    source_help = """
## Configuration

- **source**: the edited configuration under consideration; without one, the one as given
- **diff**: that configuration, or else the one in force, against the one as given
- **best**: the one in force, which the next edits start from: the last that gave results

`{view}` goes on to the next view.
"""
    table_help = """
## Benchmarks

The rows are problem sizes with the best solution so far. `{sort}` sorts as in the file or by gain over the
first run, `{filter}` filters by words such as `DepthU=64`, `256x128` or `round=2`. Enter shows everything
about a row.
"""
    lined_details = True
    plans = False

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
        """Mean of all sizes over the first run; at the end as it was measured again."""
        finished = view_model.finished
        return self.model.gain if finished is None or finished.speedup is None else finished.speedup[0]

    def effort(self, view_model: ViewModel) -> list[tuple[int, str]]:
        """What is measured now, runs and permutations."""
        runs, permutations, last = len(self.model.ended), self.model.permutations, self.model.last
        measured = last is not None and last.outcome is None and view_model.finished is None
        doing = [(2, f"measuring {round_words(last.round)}")] if last is not None and measured else []
        return [*doing, (3, counted(runs, "run")), (4, counted(permutations, "permutation"))]

    def result(self, finished: SessionFinished, view_model: ViewModel) -> Content:
        """The gain, what was measured, and where the best configuration is."""
        return tensile_result(finished, view_model.started, self.model)

    def entry(self, event: Event) -> Widget | None:
        """How a run ended; of a failed one what Tensile said last is folded."""
        if not isinstance(event, BenchmarkFinished):
            return None
        text, failure = event.words, event.outcome.failure
        if failure is not None and failure.detail:
            return Fold(f"! {text}", failure.detail, classes="entry")
        return note_entry(text, warning=failure is not None)

    def question_words(self, step: Step) -> str:
        """What the edits do to the number of permutations."""
        return permutations_change(step.detail)


def permutations_change(detail: str) -> str:
    """The permutations before the first edit and after the last, as a step's detail counts them; else empty."""
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
        ("reason", in_line(finished.reason)),
        ("measured", f"{counted(finished.evaluations, 'permutation')} in {runs}"),
        ("model", model_effort(finished)),
        ("result", finished.result or ""),
    ]
    if started is not None:
        best = f"best.yaml in {started.directory}" if finished.result else ""
        pairs += [("best", best), way_on(finished, started)]
    return pairs_table(pairs)


def size_dialog(row: SizeRow, model: TensileViewModel) -> tuple[Content, Content]:
    """Title and text: the winner, the ranking of the last run that measured the size, and what was rejected."""
    groups = {group for group, _ in model.winners.keys() | model.outcomes.keys()}
    title = size_text(row.size) + (f" · size group {row.group}" if len(groups) > 1 else "")
    parts = [_winner(row.winner) if row.winner is not None else Content.styled("no valid solution yet", "italic")]
    if row.measured is not None:
        parts.append(_measured(row.measured, row.measured_in or 0))
        parts += _rejected(row, model)
    return one_line(title), Content("\n\n").join(parts)


def _winner(winner: Winner) -> Content:
    gain = ""
    if winner.gain is not None and winner.first_gflops is not None:
        gain = f"{factor(winner.gain)} the {gflops_words(winner.first_gflops)} of the first run"
    time = "" if winner.microseconds is None else f"{winner.microseconds:,.2f} µs"
    pairs: Pairs = [
        ("winner", winner.solution),
        ("found in", f"round {winner.round}"),
        ("speed", f"{gflops_words(winner.gflops)} GFLOP/s"),
        ("gain", gain),
        ("a launch", time),
        *listed("parameters", {name: value_text(value) for name, value in winner.values.items()}),
    ]
    return pairs_table(pairs)


def _measured(outcome: SizeOutcome, number: int) -> Content:
    """The ranking of one run."""
    failed = f", {outcome.failed:,} failed validation" if outcome.failed else ""
    head = plain(f"round {number}: {counted(outcome.measured, 'solution')} timed{failed}; GFLOP/s", "$foreground-muted")
    rest = outcome.measured - len(outcome.slowest)
    varied = _varied([*outcome.ranked, *outcome.slowest])
    lines = list(_ranking(outcome.ranked, 1, varied))
    if outcome.slowest and rest >= len(outcome.ranked):
        lines += [Content.styled("the slowest", "$foreground-muted"), *_ranking(outcome.slowest, rest + 1, varied)]
    return Content("\n").join([head, *lines])


def _varied(contenders: Sequence[Contender]) -> list[str]:
    """The parameters that tell the contenders apart; all where nothing does."""
    names = list(dict.fromkeys(name for one in contenders for name in one.values))
    return [name for name in names if len({str(one.values.get(name)) for one in contenders}) > 1] or names


def _ranking(contenders: Sequence[Contender], first: int, names: Sequence[str]) -> Iterator[Content]:
    """A line a contender, with its values of some parameters."""
    for place, one in enumerate(contenders, start=first):
        values = {name: one.values[name] for name in names if name in one.values}
        what = one_line(values_words(values) or one.solution)
        yield hanging(Content(f"{place:>4} {gflops_words(one.gflops):>9}  ")) + what


def _rejected(row: SizeRow, model: TensileViewModel) -> list[Content]:
    """The permutations of the size's group that Tensile made no kernel of, by reason."""
    run = model.runs.get(row.measured_in) if row.measured_in is not None else None
    groups = [] if run is None or run.outcome is None else run.outcome.groups
    reasons = next((group.rejected for group in groups if group.group == row.group), {})
    if not reasons:
        return []
    head = Content.styled("rejected permutations", "$foreground-muted")
    lines = [hanging(Content(f"{number:>4}  ")) + one_line(reason) for reason, number in reasons.items()]
    return [Content("\n").join([head, *lines])]


class SizeContents(BenchmarkContents):
    """Problem sizes with their winners."""

    relevant = (BenchmarkStarted, BenchmarkOutput, BenchmarkFinished, WinnersChanged, SessionFinished)

    def __init__(self, model: TensileViewModel) -> None:
        self._model = model
        self.table: SizeTable = SizeTable()

    def draw(self, view_model: ViewModel, text: str, order: RowOrder[Any]) -> str:
        """The line below says what the last run had to do and how long it took."""
        rows = size_rows(self._model)
        shown = visible_sizes(rows, order, text.lower().split())
        self.table.draw(shown, SizeContext.of(shown, max(self._model.means, default=0)), order)
        return shown_of(len(shown), len(rows), runs_line(self._model))

    def chart(self, view_model: ViewModel, name: str, width: int, height: int) -> Content:
        """The geometric mean of the best GFLOP/s after each run."""
        title = "mean of best" if len(self._model.winners) > 1 else "best so far"
        means = list(self._model.means.values())
        return best_chart(means, "GFLOP/s", width, height, title=title, words=gflops_words)

    def exported(self, view_model: ViewModel) -> str:
        """The best solution of every size with the values of its parameters."""
        return sizes_csv(size_rows(self._model))

    def about(self, view_model: ViewModel, key: str) -> tuple[Content, Content]:
        """The winner, the ranking of the last run and what was rejected."""
        row = next(row for row in size_rows(self._model) if row.key == key)
        return size_dialog(row, self._model)
