"""What the screen shows of a kernel's session: its words, and the table of evaluations with its rows and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from textual.content import Content

from tui_tuner.format import count, counted, factor, interval, milliseconds, share, tunable_value
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.session import events
from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.subjects import Source
from tui_tuner.text import clean
from tui_tuner.tui.columns import Column, OrderedRows, RowOrder, best_chart
from tui_tuner.tui.plain import one_line
from tui_tuner.tui.status import bar
from tui_tuner.tui.subject import BenchmarkContents, SubjectView, shown_of
from tui_tuner.tui.table import ColumnTable
from tui_tuner.tui.texts import evaluation_text, result_text
from tui_tuner.tui.view_model import EvaluationRow, ViewModel, time_label


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
        best, speedup = view_model.incumbent, view_model.speedup
        if best is None or speedup is None:
            return "no incumbent yet"
        return f"incumbent {factor(speedup[0])}: {best.candidate.title}"

    def file_name(self, language: str) -> str:
        """With the ending of the language."""
        return f"kernel{COMPILED_LANGUAGES[language].built_as}"

    def gain(self, view_model: ViewModel) -> float | None:
        """The best one's speed-up."""
        return None if view_model.speedup is None else view_model.speedup[0]

    def effort(self, view_model: ViewModel) -> list[tuple[int, str]]:
        """Evaluations, of how many while the session goes on."""
        started, done = view_model.started, view_model.evaluations
        if started is None or view_model.finished is not None:
            return [(2, counted(done, "eval"))]
        return [(2, f"eval {done}/{started.max_evaluations} {bar(done, started.max_evaluations)}")]

    def result(self, finished: SessionFinished, view_model: ViewModel) -> Content:
        """Speed-up, effort, and where the best kernel is."""
        return result_text(finished, view_model)


class EvaluationContents(BenchmarkContents):
    """In one of the orders that the columns offer."""

    relevant = (
        events.BaselineMeasured, events.EvaluationStarted, events.EvaluationFinished, events.Compared,
        events.IncumbentChanged, events.DeviceReady,
    )  # fmt: skip

    def __init__(self) -> None:
        self.table: EvaluationTable = EvaluationTable()
        self._tunables: TunableWidths | None = None
        self._words: Sequence[str] = ()
        self._rows: OrderedRows[EvaluationRow] | None = None

    def draw(self, view_model: ViewModel, words: Sequence[str], order: int) -> str:
        """The line below says how many rows are shown, and what the short names of tunables stand for."""
        rows = self._in_order(view_model, words, self.table.orders[order])
        if self._tunables is None:
            return ""
        columns = self._tunables.columns()
        unit = time_label(view_model.device).partition(" (")[0]  # the chart above says it in full
        self.table.draw(rows, EvaluationContext(columns, unit, view_model.titles))
        return shown_of(len(rows), len(view_model.rows)) + columns.legend

    def _in_order(
        self, view_model: ViewModel, words: Sequence[str], order: RowOrder[EvaluationRow]
    ) -> OrderedRows[EvaluationRow]:
        """The rows that contain all words; at a cost that depends on what changed, while words and order stay."""

        def matching(number: int) -> bool:
            row = view_model.rows[number]
            return not words or matches(row, view_model.titles.get(row.candidate, ""), words)

        changed = view_model.take_changed_rows()
        self._see(view_model, changed)
        if self._rows is None or not self._rows.has(order, view_model.rows) or words != self._words:
            self._words, self._rows = (
                words,
                OrderedRows(order, view_model.rows, list(filter(matching, view_model.rows))),
            )
            return self._rows
        for number in changed:
            if matching(number):
                self._rows.put(number)
            else:
                self._rows.drop(number)
        return self._rows

    def _see(self, view_model: ViewModel, changed: Iterable[int]) -> None:
        if self._tunables is None and view_model.started is not None:
            given = view_model.baseline
            self._tunables = TunableWidths(given.tunables if isinstance(given, Candidate) else {})
        if self._tunables is not None:
            for number in changed:
                self._tunables.see(view_model.rows[number].configuration)

    def chart(self, view_model: ViewModel, width: int, height: int) -> Content:
        """The best time; one that is not confirmed says so."""
        title = "best so far" if view_model.confirmed else "unconfirmed"
        return best_chart(view_model.best_times, time_label(view_model.device), width, height, title=title)

    def about(self, view_model: ViewModel, key: str) -> tuple[Content, Content]:
        """Configuration, times and resources, or the failure."""
        row = view_model.rows[int(key)]
        text = evaluation_text(row, view_model.titles.get(row.candidate, ""), time_label(view_model.device))
        return one_line(f"evaluation {row.number}"), text


NEWEST = RowOrder[EvaluationRow]("newest", lambda row: (-row.number,))

FASTEST = RowOrder[EvaluationRow]("fastest", lambda row: (row.time, -row.number))
"""Failures and running ones stand at the end, the newest first."""

_ABSENT = "·"


@dataclass(frozen=True)
class Tunables:
    """The column of configurations: every tunable has a place of its own in it.

    Attributes:
        names: of all tunables that occur, in the order of their first occurrence.
        widths: cells for the values of each.
    """

    names: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()

    @property
    def header(self) -> str:
        """The short names over their values."""
        pairs = zip(short_names(self.names), self.widths, strict=True)
        return " ".join(f"{name:>{width}}" for name, width in pairs) or "configuration"

    @property
    def legend(self) -> str:
        """What the short names stand for; empty where they are the names themselves."""
        pairs = zip(short_names(self.names), self.names, strict=True)
        return "  ".join(f"{short} {name}" for short, name in pairs if short != name)

    def line(self, configuration: Configuration) -> str:
        """The values of a configuration, each in its place."""
        values = [tunable_value(configuration[name]) if name in configuration else _ABSENT for name in self.names]
        return " ".join(f"{value:>{width}}" for value, width in zip(values, self.widths, strict=True))


def short_names(names: Sequence[str]) -> list[str]:
    """A few letters for each name: initials of its words, or its start; whole names where that is ambiguous."""
    short = [_short(name) for name in names]
    seen = Counter(short)
    return [brief if seen[brief] == 1 else name for brief, name in zip(short, names, strict=True)]


def _short(name: str) -> str:
    words = [word for word in name.split("_") if word]
    return name[:3] if len(words) < 2 else "".join(word[0] for word in words)


class TunableWidths:
    """The tunables of all rows and the widths that their values need.

    Args:
        offered: the values of the kernel as given; what can have one value only needs no place, while it has it.
    """

    def __init__(self, offered: Mapping[str, Sequence[Value]]) -> None:
        self._longest: dict[str, int] = {}
        self._fixed = {name: values[0] for name, values in offered.items() if len(values) == 1}

    def see(self, configuration: Configuration) -> None:
        """Count another configuration in."""
        for name, value in configuration.items():
            self._longest[name] = max(self._longest.get(name, 1), len(tunable_value(value)))
            if name in self._fixed and value != self._fixed[name]:
                del self._fixed[name]

    def columns(self) -> Tunables:
        """Their places."""
        names = tuple(name for name in self._longest if name not in self._fixed) or tuple(self._longest)
        pairs = zip(short_names(names), names, strict=True)
        return Tunables(names, tuple(max(len(short), self._longest[name]) for short, name in pairs))


def state_words(row: EvaluationRow, title: str) -> str:
    """The state of a row in words: running, incumbent, verified, or why it failed; then the candidate's title."""
    if row.evaluation is None:
        words = "running"
    elif row.evaluation.failure is not None:
        failure = row.evaluation.failure
        return " ".join(clean(f"{failure.kind.value}: {failure.message}").split())
    else:
        words = "incumbent" if row.incumbent else "verified"
    return f"{words} · {' '.join(clean(title).split())}" if title else words


def matches(row: EvaluationRow, title: str, words: Sequence[str]) -> bool:
    """Whether every word occurs in what the row says, tunables as in `block_size_x=64`."""
    values = " ".join(f"{name}={tunable_value(value)}" for name, value in row.configuration.items())
    text = f"{row.number} {values} {state_words(row, title)}".lower()
    return all(word in text for word in words)


@dataclass(frozen=True)
class EvaluationContext:
    """What the cells of evaluations need beside their row.

    Attributes:
        tunables: the places of the values.
        unit: over the column of times.
        titles: of the candidates by id; known before the first row of a candidate is drawn.
    """

    tunables: Tunables = field(default_factory=Tunables)
    unit: str = "ms"
    titles: Mapping[str, str] = field(default_factory=dict, compare=False)


def _number(row: EvaluationRow, _context: EvaluationContext) -> str:
    return f"★{row.number}" if row.incumbent else str(row.number)


def _time(row: EvaluationRow, _context: EvaluationContext) -> str:
    if row.evaluation is None:
        return "…"
    timing = row.evaluation.timing
    return "✗" if timing is None else milliseconds(timing.median)


def _interval(row: EvaluationRow, _context: EvaluationContext) -> str:
    """The kind of a failure stands where its interval would."""
    if row.evaluation is None:
        return "running"
    timing, failure = row.evaluation.timing, row.evaluation.failure
    if timing is None:
        return "" if failure is None else failure.kind.value
    return interval(timing.low, timing.high, timing.median)


EvaluationColumn = Column[EvaluationRow, EvaluationContext]

EVALUATION_COLUMNS = (
    EvaluationColumn(
        name="number", heading="#", cell=_number, least=5, in_sight=True, order=NEWEST,
        explanation="number of the evaluation; ★ is the incumbent",
    ),
    EvaluationColumn(
        name="configuration", heading=lambda context: context.tunables.header, most=400,
        cell=lambda row, context: context.tunables.line(row.configuration),
        explanation="the value of every tunable; their short names are told below the table",
    ),
    EvaluationColumn(
        name="time", heading=lambda context: context.unit, cell=_time, least=7, in_sight=True, order=FASTEST,
        explanation="median of the samples in ms; … while it runs, ✗ where there is none",
    ),
    EvaluationColumn(
        name="95% CI", heading="95% CI", cell=_interval, least=16, most=18, in_sight=True,
        explanation="where the median lies with 95 % confidence, or why there is none",
    ),
    EvaluationColumn(
        name="roofline", heading="roofline", least=9, optional=True, in_sight=True,
        cell=lambda row, _context: "" if row.evaluation is None else share(row.evaluation.share),
        explanation="what the declared work takes at the device's ceilings, as a share of the time",
    ),
    EvaluationColumn(
        name="registers", heading="regs", least=5, optional=True,
        cell=lambda row, _context: "" if row.evaluation is None else count(row.evaluation.resources.registers),
        explanation="registers of a thread",
    ),
    EvaluationColumn(
        name="spill", heading="spill", least=6, optional=True,
        cell=lambda row, _context: "" if row.evaluation is None else count(row.evaluation.resources.spill_bytes),
        explanation="bytes of registers that a thread keeps in memory",
    ),
    EvaluationColumn(
        name="state", heading="state", least=64, most=64, side="left",
        cell=lambda row, context: state_words(row, context.titles.get(row.candidate, "")),
        explanation="of the evaluation, with the candidate's title or the failure in words",
    ),
)  # fmt: skip
"""From left to right."""


def _style(row: EvaluationRow, _context: EvaluationContext) -> str:
    if row.evaluation is None:
        return "italic dim"
    if row.evaluation.failure is not None:
        return "dim"
    return "bold" if row.incumbent else ""


class EvaluationTable(ColumnTable[EvaluationRow, EvaluationContext]):
    """Evaluations, a row each."""

    def __init__(self) -> None:
        super().__init__(EVALUATION_COLUMNS, key=lambda row: str(row.number), style=_style, table_id="evaluations")
