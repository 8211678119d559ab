"""What the screen shows of a kernel's session: its words, and what the pane of benchmarks shows of its evaluations."""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from textual.content import Content

from tui_tuner.format import (
    configuration_words,
    counted,
    factor,
    factor_interval,
    milliseconds,
    roofline_words,
    time_words,
    timer,
    tunable_value,
)
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.expressions import ExpressionError
from tui_tuner.problem.languages import COMPILED_LANGUAGES, LANGUAGES
from tui_tuner.session import events
from tui_tuner.session.events import Event, SessionFinished, SessionStarted
from tui_tuner.subjects import KERNEL, Source
from tui_tuner.text import clean, in_line
from tui_tuner.tui.copying import in_csv
from tui_tuner.tui.panes.charts import Scatter, best_chart, over_time
from tui_tuner.tui.status import bar, model_effort, way_on
from tui_tuner.tui.subject import BenchmarkContents, SubjectView, shown_of
from tui_tuner.tui.tables import OrderedRows, RowOrder
from tui_tuner.tui.tables.evaluation_table import (
    EvaluationContext,
    EvaluationTable,
    TunableWidths,
    by_tunable,
    short_names,
)
from tui_tuner.tui.tables.rows import RowFilter, evaluation_text, pairs_about
from tui_tuner.tui.text import Pairs, one_line, pairs_table
from tui_tuner.tui.view_model import EvaluationRow, ViewModel, time_label


class KernelView(SubjectView):
    """Kernels, their evaluations, and the incumbent; all of it is in the view model."""

    noun = "kernel"
    pane = KERNEL.pane
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
        best, speedup = view_model.incumbent, view_model.speedup
        if best is None or speedup is None:
            return "as given: nothing is faster yet"
        return f"incumbent {factor(speedup[0])}: {view_model.titles[best.candidate.id]}"

    def file_name(self, language: str) -> str:
        """With the ending of the language."""
        return f"kernel{COMPILED_LANGUAGES[language].built_as}"

    def gain(self, view_model: ViewModel) -> float | None:
        """The best one's speed-up."""
        return None if view_model.speedup is None else view_model.speedup[0]

    def effort(self, view_model: ViewModel) -> list[tuple[int, str]]:
        """Evaluations; while the session goes on of how many, and the best time so far, which may not be in sight."""
        started, done = view_model.started, view_model.evaluations
        evaluations, best = counted(done, "eval"), _best_words(view_model)
        if started is not None and view_model.finished is None:
            evaluations = f"eval {done}/{started.max_evaluations} {bar(done, started.max_evaluations)}"
        return [(2, evaluations), *([(4, best)] if best else [])]

    def result(self, finished: SessionFinished, view_model: ViewModel) -> Content:
        """Speed-up, effort, and where the best kernel is."""
        return _result_text(finished, view_model)


def _best_words(view_model: ViewModel) -> str:
    """Empty before anything was timed, and at the end, which the result tells; in ms unless the header has a unit."""
    if not view_model.best_times or view_model.finished is not None:
        return ""
    unit = " ms" if time_label(view_model.device) == "ms" else ""
    doubt = "" if view_model.confirmed else ", unconfirmed"
    return f"best {milliseconds(view_model.best_times[-1])}{unit}{doubt}"


def _result_text(finished: SessionFinished, view_model: ViewModel) -> Content:
    """What came of the session, where it lies, and how to see it again."""
    speedup = "" if finished.speedup is None else f"{factor_interval(finished.speedup)} over the kernel as given"
    pairs: Pairs = [
        ("speed-up", speedup),
        *_times(finished, view_model),
        ("reason", in_line(finished.reason)),
        ("evaluations", f"{finished.evaluations:,}"),
        ("model", model_effort(finished) if finished.model_calls else ""),
        ("result", finished.result or ""),
    ]
    if view_model.started is not None:
        pairs.append(("best kernel", _best_file(finished, view_model.started)))
        if finished.status == "finished" and finished.speedup is not None:
            how = "--apply" if _has_other_text(view_model) else "--as configuration"
            pairs.append(("take it over", f"tuner-tui best {shlex.quote(view_model.started.run)} {how}"))
        pairs.append(way_on(finished, view_model.started))
    return pairs_table(pairs)


def _has_other_text(view_model: ViewModel) -> bool:
    """Whether the user's file would change: a compiled one by its tunables' values too."""
    started, best, given = view_model.started, view_model.incumbent, view_model.baseline
    if started is None or started.language != "python":
        return started is not None and started.language in COMPILED_LANGUAGES
    return best is not None and given is not None and best.candidate.source != given.source


def _times(finished: SessionFinished, view_model: ViewModel) -> Pairs:
    """Of the kernel as given and of the best, with the configuration of that."""
    unit, best = time_label(view_model.device), view_model.incumbent
    if finished.times is None:
        return []
    as_given, fastest = (time_words(time, unit) for time in finished.times)
    if best is not None and finished.confirmed:
        values = configuration_words(best.evaluation.configuration, between=" ")
        fastest = f"{fastest}{roofline_words(best.evaluation.share)}, {values}"
    return [("as given", as_given), *([("best", fastest)] if finished.status != "no_improvement" else [])]


def _best_file(finished: SessionFinished, started: SessionStarted) -> str:
    """Where the best kernel is, or how to come by it; empty where nothing was measured."""
    if finished.speedup is None:
        return ""
    if finished.status == "no_improvement":
        return "the one as given: nothing faster was accepted"
    suffix = Path(started.kernel).suffix
    file = f"{started.directory}/best{suffix if suffix in LANGUAGES or started.language == 'python' else '.toml'}"
    if finished.result is None and not Path(file).exists():  # a recording that came without what it had written
        return f"tuner-tui best {shlex.quote(started.run)} prints it"
    return file


def evaluations_csv(view_model: ViewModel) -> str:
    """All evaluations as CSV, in the order in which they were begun; times in ms, with the ends of their interval."""
    names = list(dict.fromkeys(name for row in view_model.rows.values() for name in row.configuration))
    head = ["number", "candidate", "title", *names, "ms", "low", "high", "incumbent", "failure", "message"]
    rows = [_csv_cells(row, names, view_model.titles) for _, row in sorted(view_model.rows.items())]
    return in_csv([head, *rows]) if rows else ""


def _csv_cells(row: EvaluationRow, names: Sequence[str], titles: Mapping[str, str]) -> list[object]:
    timing = None if row.evaluation is None else row.evaluation.timing
    failure = None if row.evaluation is None else row.evaluation.failure
    times = ["", "", ""] if timing is None else [timing.median, timing.low, timing.high]
    fault = ["", ""] if failure is None else [str(failure.kind), clean(failure.message)]
    values = [tunable_value(row.configuration[name]) if name in row.configuration else "" for name in names]
    title = clean(titles.get(row.candidate, ""))
    return [row.number, row.candidate, title, *values, *times, int(row.incumbent), *fault]


class EvaluationContents(BenchmarkContents):
    """In one of the orders that the columns and the tunables offer."""

    relevant = (
        events.BaselineMeasured, events.EvaluationStarted, events.EvaluationLeft, events.EvaluationFinished,
        events.Compared, events.IncumbentChanged, events.DeviceReady, events.PairAsked, events.PairCompared,
        events.SessionFinished,
    )  # fmt: skip
    curves = ("best so far", "best over time")
    compares = True
    explains_names = True
    filter_words = "words, or: time < 0.2 and state == ok"

    def __init__(self) -> None:
        self.table: EvaluationTable = EvaluationTable()
        self._tunables: TunableWidths | None = None
        self._by_tunable: dict[str, RowOrder[EvaluationRow]] = {}
        self._filter = RowFilter("")
        self._rows: OrderedRows[EvaluationRow] | None = None
        self._verdicts: dict[int, tuple[EvaluationRow, bool]] = {}

    @property
    def _names(self) -> Sequence[str]:
        """Of the tunables, as far as they are known."""
        return () if self._tunables is None else self._tunables.columns().names

    @property
    def orders(self) -> Sequence[RowOrder[EvaluationRow]]:
        """Those of the columns, then one a tunable."""
        for name in self._names:
            self._by_tunable.setdefault(name, by_tunable(name))
        return [*self.table.orders, *(self._by_tunable[name] for name in self._names)]

    def exported(self, view_model: ViewModel) -> str:
        """See `evaluations_csv`."""
        return evaluations_csv(view_model)

    def fault(self, text: str) -> str:
        """What is wrong with an expression."""
        try:
            RowFilter(text, () if self._tunables is None else self._tunables.names, self._short)
        except ExpressionError as error:
            return str(error).replace(f" in '{text.strip()}'", "")  # it stands beside it
        return ""

    @property
    def _short(self) -> dict[str, str]:
        """What stands over the values -> the tunable that it stands for; not where it is another one's name."""
        names = self._names
        return {short: name for short, name in zip(short_names(names), names, strict=True) if short not in names}

    async def sift(self, view_model: ViewModel, text: str) -> None:
        """Look at the rows a slice at a time; what is known of a row by then is not asked when it is drawn."""
        if self.fault(text):
            return
        wanted, verdicts = self._filter_of(view_model, text), dict[int, tuple[EvaluationRow, bool]]()
        for number, row in [*view_model.rows.items()]:
            verdicts[number] = row, wanted.takes(row, view_model.titles.get(row.candidate, ""))
            if not number % _SLICE:
                await asyncio.sleep(0)
        self._verdicts = verdicts

    def _filter_of(self, view_model: ViewModel, text: str) -> RowFilter:
        wanted, given = RowFilter(text, short=self._short), view_model.given
        wanted.given_ms = None if given is None else given.ms
        return wanted

    def draw(self, view_model: ViewModel, text: str, order: RowOrder[EvaluationRow]) -> str:
        """The line below says how many rows are shown, and what the short names of tunables stand for."""
        if text != self._filter.text and (not self.fault(text) or not self._filter.compares):
            # of words that became an expression which is none, as of `tile < 3`, nothing is to be searched for
            self._filter = self._filter_of(view_model, "" if self.fault(text) else text)
            self._rows = None
        rows = self._in_order(view_model, order)
        self._verdicts = {}
        if self._tunables is None:
            return ""
        columns = self._tunables.columns(order)
        unit = time_label(view_model.device).partition(" (")[0]  # the chart above says it in full
        best = view_model.best_times[-1] if view_model.best_times else None
        self.table.draw(rows, EvaluationContext(columns, unit, best, self.marked, view_model.titles), order)
        return shown_of(len(rows), len(view_model.rows), columns.legend)

    def _in_order(self, view_model: ViewModel, order: RowOrder[EvaluationRow]) -> OrderedRows[EvaluationRow]:
        """The rows that are wanted; at a cost that depends on what changed, while filter and order stay."""
        changed = view_model.take_changed_rows()
        self._see(view_model, changed)
        self._filter.given_ms = self._filter_of(view_model, "").given_ms

        def matching(number: int) -> bool:
            row = view_model.rows[number]
            known = self._verdicts.get(number)
            if known is not None and known[0] is row:
                return known[1]
            return self._filter.takes(row, view_model.titles.get(row.candidate, ""))

        if self._rows is None or not self._rows.has(order, view_model.rows):
            self._rows = OrderedRows(order, view_model.rows, list(filter(matching, view_model.rows)))
            return self._rows
        for number in changed:
            if number in view_model.rows and matching(number):
                self._rows.put(number)
            else:
                self._rows.drop(number)
        return self._rows

    def _see(self, view_model: ViewModel, changed: set[int]) -> None:
        if self._tunables is None and view_model.started is not None:
            given = view_model.baseline
            self._tunables = TunableWidths(given.tunables if isinstance(given, Candidate) else {})
        if self._tunables is not None:
            for number in changed & view_model.rows.keys():
                self._tunables.see(view_model.rows[number].configuration)

    @property
    def charts(self) -> Sequence[str]:
        """The best over evaluations and over the time, then a tunable each."""
        return [*self.curves, *self._names]

    def chart(self, view_model: ViewModel, name: str, width: int, height: int) -> Content:
        """The best time, where one that is not confirmed says so; or the times over the values of a tunable."""
        unit = time_label(view_model.device)
        if name not in self.curves:
            title = name if len(view_model.rows) <= MOST_DOTS else f"latest {MOST_DOTS:,}: {name}"
            return _scatter(view_model, name).draw(title, unit.partition(" (")[0], width, height)
        values, notes = view_model.best_times, [] if view_model.confirmed else ["unconfirmed"]
        if name != self.curves[0] and values:
            values = over_time(values, view_model.best_at, 8 * width)
            notes.append(f"in {timer(view_model.best_at[-1])}")
        return best_chart(values, unit, width, height, title=name, note=", ".join(notes))

    def pinned(self, view_model: ViewModel, key: str) -> EvaluationRow | None:
        """What was timed."""
        row = view_model.rows.get(int(key))
        return row if row is not None and math.isfinite(row.time) else None

    def about(self, view_model: ViewModel, key: str) -> tuple[Content, Content]:
        """Configuration, times and resources, or the failure."""
        row = view_model.rows.get(int(key))
        if row is None:  # which may still stand in the table
            return one_line(f"evaluation {key}"), one_line("given up before it was measured")
        text = evaluation_text(row, view_model.titles.get(row.candidate, ""), time_label(view_model.device))
        return one_line(f"evaluation {row.number}"), Content("\n").join([text, *pairs_about(row, view_model)])

    def source(self, view_model: ViewModel, key: str) -> Source | None:
        """The kernel that was evaluated."""
        row = view_model.rows.get(int(key))
        return None if row is None else view_model.sources.get(row.candidate)


_SLICE = 1000
"""So many rows are looked at before a key has its turn."""
MOST_DOTS = 5000
"""Of so many evaluations, the latest, a scatter is made: that is done whenever one arrives."""


def _scatter(view_model: ViewModel, name: str) -> Scatter:
    """The times over the values of a tunable."""
    scatter = Scatter()
    latest = list(islice(reversed(view_model.rows.values()), MOST_DOTS))
    for row in reversed(latest):
        value = row.configuration.get(name)
        if value is None or row.evaluation is None:
            continue
        if row.evaluation.timing is None:
            scatter.failed[value] += 1
        else:
            scatter.times[value].append(row.time)
            scatter.best = (value, row.time) if row.incumbent else scatter.best
    return scatter
