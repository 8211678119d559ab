"""The table of evaluations: what its columns say, and how its rows are sorted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tui_tuner.evaluate.results import Evaluation, FailureKind, Timing
from tui_tuner.format import count, interval, milliseconds, share, tunable_value
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.tui.tables import Column, RowOrder
from tui_tuner.tui.tables.rows import PIN, state_words
from tui_tuner.tui.tables.table import ColumnTable
from tui_tuner.tui.view_model import EvaluationRow

NEWEST = RowOrder[EvaluationRow]("newest", lambda row: (-row.number,))

FASTEST = RowOrder[EvaluationRow]("fastest", lambda row: (row.time, -row.number))
"""Failures and running ones stand at the end, the newest first."""


def by_tunable(name: str) -> RowOrder[EvaluationRow]:
    """By the values of a tunable, the fastest first where they are equal; rows without it stand at the end."""
    return RowOrder(name, lambda row: (_as_number(row.configuration.get(name)), row.time, -row.number))


def _by(name: str, value: Callable[[Evaluation], float | None]) -> RowOrder[EvaluationRow]:
    """By a number of the evaluation, the largest first; rows without it stand at the end."""

    def key(row: EvaluationRow) -> tuple[float, ...]:
        found = None if row.evaluation is None else value(row.evaluation)
        return (math.inf if found is None else -found, -row.number)

    return RowOrder(name, key)


def _as_number(value: Value | None) -> float:
    """A place for a value: of words that of their first letters."""
    if isinstance(value, str):
        return float(int.from_bytes(value.encode()[:6].ljust(6, b"\0")))
    return math.inf if value is None else float(value)


def _state_rank(row: EvaluationRow) -> tuple[float, ...]:
    """The best, what runs, what is right, then failures by their kind."""
    if row.incumbent:
        return (0.0, -row.number)
    if row.evaluation is None:
        return (1.0, -row.number)
    failure = row.evaluation.failure
    return (2.0 if failure is None else 3.0 + [*FailureKind].index(failure.kind), -row.number)


_ABSENT = "·"


@dataclass(frozen=True)
class Tunables:
    """The column of configurations: every tunable has a place of its own in it.

    Attributes:
        names: of all tunables that occur, in the order of their first occurrence; first that by which rows are sorted.
        widths: cells for the values of each.
        mark: stands behind the short name of the first where the rows are sorted by it.
    """

    names: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()
    mark: str = ""

    @property
    def header(self) -> str:
        """The short names over their values."""
        first, *others = short_names(self.names) or [""]
        pairs = zip([first + self.mark, *others], self.widths, strict=False)
        return " ".join(f"{name:>{width}}" for name, width in pairs) or "configuration"

    @property
    def ends(self) -> list[int]:
        """Where the place of each tunable ends, in cells."""
        return [end + index for index, end in enumerate(accumulate(self.widths))]

    def name_at(self, cell: int) -> str:
        """The tunable whose place reaches over a cell."""
        return next((name for name, end in zip(self.names, self.ends, strict=True) if cell < end), "")

    @property
    def legend(self) -> str:
        """What the short names stand for; empty where they are the names themselves."""
        pairs = zip(short_names(self.names), self.names, strict=True)
        return ", ".join(f"{short} {name}" for short, name in pairs if short != name)

    def line(self, configuration: Configuration) -> str:
        """The values of a configuration, each in its place."""
        values = [tunable_value(configuration[name]) if name in configuration else _ABSENT for name in self.names]
        return " ".join(f"{value:>{width}}" for value, width in zip(values, self.widths, strict=True))


def short_names(names: Sequence[str]) -> list[str]:
    """A few letters for each name: initials of its words, or its start; whole where that is short or ambiguous."""
    short = [_short(name) for name in names]
    seen = Counter(short)
    return [brief if seen[brief] == 1 else name for brief, name in zip(short, names, strict=True)]


def _short(name: str) -> str:
    words = [word for word in name.split("_") if word]
    if len(words) < 2:
        return name if len(name) <= _SHORT else name[:3]
    return "".join(word[0] for word in words)


_SHORT = 4
"""Letters of a word that is not worth a legend."""


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

    @property
    def names(self) -> Collection[str]:
        """All that occur."""
        return self._longest.keys()

    def columns(self, order: RowOrder[EvaluationRow] | None = None) -> Tunables:
        """Their places; that by which rows are sorted has the first, where it is never cut."""
        names = tuple(name for name in self._longest if name not in self._fixed) or tuple(self._longest)
        mark = order.mark if order is not None and order.name in names else ""
        if order is not None and mark:
            names = (order.name, *(name for name in names if name != order.name))
        marks = [mark] + [""] * len(names)
        triples = zip(short_names(names), marks, names, strict=False)
        return Tunables(
            names, tuple(max(len(short + sign), self._longest[name]) for short, sign, name in triples), mark
        )


@dataclass(frozen=True)
class EvaluationContext:
    """What the cells of evaluations need beside their row.

    Attributes:
        tunables: the places of the values.
        unit: over the column of times.
        best_ms: what changes are told against.
        pinned: numbers of the rows that are.
        titles: of the candidates by id; known before the first row of a candidate is drawn.
    """

    tunables: Tunables = field(default_factory=Tunables)
    unit: str = "ms"
    best_ms: float | None = None
    pinned: tuple[int, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict, compare=False)


def _number(row: EvaluationRow, context: EvaluationContext) -> str:
    if row.number in context.pinned:
        return f"{PIN}{row.number}"
    return f"★{row.number}" if row.incumbent else str(row.number)


def _time(row: EvaluationRow, _context: EvaluationContext) -> str:
    if row.evaluation is None:
        return "…"
    timing = row.evaluation.timing
    return "✗" if timing is None else milliseconds(timing.median)


def _change(row: EvaluationRow, context: EvaluationContext) -> str:
    """By how much more time it takes than the best; in percent however far off: a factor is a speed-up."""
    best = context.best_ms
    if best is None or not math.isfinite(row.time) or best <= 0:
        return ""
    more = 100 * (row.time / best - 1)
    return f"{more:+,.0f}%" if more >= 1000 else f"{more:+.1f}%"


def _interval(row: EvaluationRow, _context: EvaluationContext) -> str:
    timing = None if row.evaluation is None else row.evaluation.timing
    return "" if timing is None else interval(timing.low, timing.high, timing.median)


EvaluationColumn = Column[EvaluationRow, EvaluationContext]

EVALUATION_COLUMNS = (
    EvaluationColumn(
        name="number", heading="#", cell=_number, least=5, in_sight=True, order=NEWEST,
        explanation="number of the evaluation, where 1 is the kernel as given and is not counted; ★ is the "
        "incumbent, ◆ is pinned",
    ),
    EvaluationColumn(
        name="configuration", heading=lambda context: context.tunables.header, most=400, squeezed_to=8,
        parts=lambda context: context.tunables.ends,
        cell=lambda row, context: context.tunables.line(row.configuration),
        explanation="the value of every tunable; their short names are told below the table",
        wants=lambda cell, context: context.tunables.name_at(cell),
    ),
    EvaluationColumn(
        name="time", heading=lambda context: context.unit, cell=_time, least=7, in_sight=True, order=FASTEST,
        explanation="median of the samples in ms; … while it runs, ✗ where there is none",
    ),
    EvaluationColumn(
        name="change", heading="vs best", cell=_change, least=8, in_sight=True,
        explanation="how much more time it takes than the best so far", wants=lambda _cell, _context: FASTEST.name,
    ),
    EvaluationColumn(
        name="95% CI", heading="95% CI", cell=_interval, least=16, most=18,
        explanation="where the median lies with 95 % confidence",
        order=_by("widest", lambda evaluation: None if evaluation.timing is None else _width(evaluation.timing)),
    ),
    EvaluationColumn(
        name="roofline", heading="roofline", least=9, optional=True,
        cell=lambda row, _context: "" if row.evaluation is None else share(row.evaluation.share),
        explanation="what the declared work takes at the device's ceilings, as a share of the time",
        order=_by("roofline", lambda evaluation: evaluation.share),
    ),
    EvaluationColumn(
        name="registers", heading="regs", least=5, optional=True,
        cell=lambda row, _context: "" if row.evaluation is None else count(row.evaluation.resources.registers),
        explanation="registers of a thread",
        order=_by("registers", lambda evaluation: evaluation.resources.registers),
    ),
    EvaluationColumn(
        name="spill", heading="spill", least=6, optional=True,
        cell=lambda row, _context: "" if row.evaluation is None else count(row.evaluation.resources.spill_bytes),
        explanation="bytes of registers that a thread keeps in memory",
        order=_by("spill", lambda evaluation: evaluation.resources.spill_bytes),
    ),
    EvaluationColumn(
        name="state", heading="state", least=30, most=64, side="left", in_sight=True, stretches=True,
        cell=lambda row, context: state_words(row, context.titles.get(row.candidate, "")),
        explanation="of the evaluation, with the candidate's title or the failure in words",
        order=RowOrder("state", _state_rank),
    ),
)  # fmt: skip
"""From left to right."""


def _width(timing: Timing) -> float:
    """Of the interval, relative to the time."""
    return (timing.high - timing.low) / timing.median


def _style(row: EvaluationRow, _context: EvaluationContext) -> str:
    if row.evaluation is None:
        return "table--pending"
    if row.evaluation.failure is not None:
        return "table--failed"
    return "table--best" if row.incumbent else ""


class EvaluationTable(ColumnTable[EvaluationRow, EvaluationContext]):
    """Evaluations, a row each."""

    def __init__(self) -> None:
        super().__init__(EVALUATION_COLUMNS, key=lambda row: str(row.number), style=_style, table_id="evaluations")
