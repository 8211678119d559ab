"""The table of evaluations: its columns, each in one place, and the widget that draws them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_tuner.format import count, interval, milliseconds, share
from tui_tuner.tui.benchmark_rows import FASTEST, NEWEST, Tunables, state_words
from tui_tuner.tui.columns import Column, ColumnTable
from tui_tuner.tui.picture import EvaluationRow


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
        explanation="the share of what the device could do at best",
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
