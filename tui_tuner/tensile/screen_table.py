"""What a Tensile session looks like now, and the table of its problem sizes: rows, columns, widget, the line below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.format import duration, factor
from tui_tuner.session.events import ApprovalAsked, ApprovalGiven, CandidateProposed, Event, SessionStarted
from tui_tuner.subjects import Source
from tui_tuner.tensile.document import value_text
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.outcome import (
    FINALS,
    RoundOutcome,
    SizeKey,
    SizeOutcome,
    Winner,
    gflops_words,
    mean_gain,
    mean_speed,
    round_words,
    size_text,
    values_words,
    work_words,
)
from tui_tuner.text import flattened
from tui_tuner.tui.copying import in_csv
from tui_tuner.tui.tables import Column, RowOrder
from tui_tuner.tui.tables.table import ColumnTable


@dataclass(frozen=True)
class BenchmarkRun:
    """One run of Tensile; `outcome` is None while it lasts."""

    round: int
    candidate: str
    permutations: int
    sizes: int
    outcome: RoundOutcome | None = None


@dataclass
class TensileViewModel:
    """The part of a session's view model that only a Tensile session has.

    Attributes:
        runs: by round.
        outcomes: the last successful measurement of every problem size, with its round; not of the finalists.
        winners: the best solution so far at every problem size.
        means: geometric mean of the winners' GFLOP/s, by the round after which it was that.
        in_force: the run whose configuration the next edits start from: the last that gave results.
        line: the last line that Tensile printed in the present run.
    """

    runs: dict[int, BenchmarkRun] = field(default_factory=dict)
    outcomes: dict[SizeKey, tuple[int, SizeOutcome]] = field(default_factory=dict)
    winners: dict[SizeKey, Winner] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    in_force: BenchmarkRun | None = None
    line: str = ""
    _candidates: dict[str, Source] = field(default_factory=dict)
    _asked: Source | None = None

    @property
    def best(self) -> Source | None:
        """The configuration in force; None before the first results."""
        return None if self.in_force is None else self._candidates.get(self.in_force.candidate)

    @property
    def last(self) -> BenchmarkRun | None:
        """The latest run."""
        return next(reversed(self.runs.values()), None)

    @property
    def ended(self) -> list[RoundOutcome]:
        """The outcomes of the runs that have ended."""
        return [run.outcome for run in self.runs.values() if run.outcome is not None]

    @property
    def seconds(self) -> float:
        """The seconds that all runs together took."""
        return sum(outcome.seconds for outcome in self.ended)

    @property
    def permutations(self) -> int:
        """The permutations of all runs that are over, as the budget counts them."""
        return sum(run.permutations for run in self.runs.values() if run.outcome is not None)

    @property
    def gain(self) -> float | None:
        """Geometric mean of the gains over the first run's winners; None before a second run gave results."""
        if len(self.means) < 2:
            return None
        return mean_gain(self.winners.values())

    def apply(self, event: Event) -> None:
        """Fold one event in; those of other sessions change nothing that is shown."""
        match event:
            case SessionStarted(baseline=candidate) | CandidateProposed(candidate=candidate):
                self._candidates[candidate.id] = candidate
            case ApprovalAsked(proposal=proposal):
                self._asked = proposal.candidate
            case ApprovalGiven(decision=decision) if self._asked is not None:
                taken = decision.applied_to(self._asked)
                self._candidates[taken.id] = taken
            case BenchmarkStarted():
                run = BenchmarkRun(event.round, event.candidate, event.permutations, event.sizes)
                self.runs[event.round], self.line = run, ""
            case BenchmarkOutput():
                self.line = event.text.strip() or self.line
            case BenchmarkFinished():
                self._end(event)
            case WinnersChanged():
                self._take(event)

    def _end(self, event: BenchmarkFinished) -> None:
        outcome = event.outcome
        begun = self.runs.get(event.round)
        if begun is None:
            begun = BenchmarkRun(event.round, event.candidate, outcome.permutations, len(outcome.sizes))
        self.runs[event.round] = replace(begun, outcome=outcome)
        if outcome.failure is None and event.round < FINALS:
            self.in_force = self.runs[event.round]
            for size in outcome.sizes:
                self.outcomes[size.place] = (event.round, size)

    def _take(self, event: WinnersChanged) -> None:
        self.winners = {winner.place: winner for winner in event.winners}
        mean = mean_speed(event.winners)
        if mean is not None:
            self.means[event.round] = mean


LIMIT = 500
"""At most so many rows are shown."""

_ABSENT = "·"


@dataclass(frozen=True)
class SizeRow:
    """One problem size.

    Attributes:
        place: in the file, from 0.
        winner: the best solution so far; None where none was valid.
        measured: what the last run said that measured it; None where none has.
        measured_in: the round of that run.
    """

    place: int
    group: int
    size: tuple[int, ...]
    winner: Winner | None = None
    measured: SizeOutcome | None = None
    measured_in: int | None = None

    @property
    def key(self) -> str:
        """Names the row."""
        return f"{self.group}:{size_text(self.size)}"


def size_rows(model: TensileViewModel) -> list[SizeRow]:
    """A row for every problem size that was measured, in the order of the file."""
    keys = sorted({**model.outcomes, **model.winners}, key=lambda key: key[0])
    return [_row(place, key, model) for place, key in enumerate(keys)]


def _row(place: int, key: SizeKey, model: TensileViewModel) -> SizeRow:
    measured_in, measured = model.outcomes.get(key, (None, None))
    return SizeRow(place, *key, model.winners.get(key), measured, measured_in)


IN_FILE = RowOrder[SizeRow]("file", lambda row: (row.place,))

BY_GAIN = RowOrder[SizeRow]("gain", lambda row: (0.0 if row.winner is None else -(row.winner.gain or 0.0),))
"""The largest first; those without one stand at the end."""


def visible_sizes(rows: Sequence[SizeRow], order: RowOrder[SizeRow], words: Sequence[str]) -> list[SizeRow]:
    """The rows to show, in order."""
    return order.sort([row for row in rows if all(word in _searched(row) for word in words)])[:LIMIT]


def _searched(row: SizeRow) -> str:
    """All that a filter looks at, values as in `DepthU=64`."""
    winner = row.winner
    words = [size_text(row.size), f"group={row.group}"]
    if winner is not None:
        words += [f"round={winner.round}", winner.solution, values_words(winner.values)]
        words += [f"{name}={value_text(value)}" for name, value in winner.values.items()]
    return " ".join(words).lower()


def telling_first(rows: Sequence[SizeRow]) -> list[str]:
    """The winners' parameters: first those that tell the winners apart, of these short ones first: the end is cut."""
    winners = [row.winner.values for row in rows if row.winner is not None]
    names = dict.fromkeys(name for values in winners for name in values)
    texts = {name: {str(values.get(name)) for values in winners} for name in names}
    return sorted(names, key=lambda name: 2 if len(texts[name]) == 1 else max(map(len, texts[name])) > _SHORT)


_SHORT = 12
"""Characters of a value that leaves others room beside it."""


def sizes_csv(rows: Sequence[SizeRow]) -> str:
    """Each size with its best solution, a column a parameter; empty where there is no size."""
    names = telling_first(rows)
    cells = [
        [row.group, size_text(row.size), one.gflops, one.gain, one.microseconds, one.round, one.solution,
         *(value_text(one.values[name]) if name in one.values else None for name in names)]
        if (one := row.winner) is not None else [row.group, size_text(row.size)]
        for row in rows
    ]  # fmt: skip
    head = ["group", "size", "gflops", "gain", "us", "round", "solution", *names]
    return in_csv([head, *cells]) if rows else ""


@dataclass(frozen=True)
class SizeContext:
    """What the cells of problem sizes need beside their row.

    Attributes:
        names: of the winners' parameters, in the order in which their values are told.
        grouped: whether there are several size groups.
        latest: the last round; winners of it stand out.
    """

    names: tuple[str, ...] = ()
    grouped: bool = False
    latest: int = 0

    @classmethod
    def of(cls, rows: Sequence[SizeRow], latest: int) -> SizeContext:
        """What these rows need."""
        return cls(tuple(telling_first(rows)), len({row.group for row in rows}) > 1, latest)


def _gain(row: SizeRow, _context: SizeContext) -> str:
    if row.winner is None:
        return ""
    return _ABSENT if row.winner.gain is None else factor(row.winner.gain)


def _microseconds(row: SizeRow, _context: SizeContext) -> str:
    time = None if row.winner is None else row.winner.microseconds
    return "" if time is None else f"{time:,.1f}"


def _winner_values(row: SizeRow, context: SizeContext) -> str:
    if row.winner is None:
        return "no valid solution"
    values = {name: row.winner.values[name] for name in context.names if name in row.winner.values}
    return flattened(values_words(values) or row.winner.solution)


SizeColumn = Column[SizeRow, SizeContext]

SIZE_COLUMNS = (
    SizeColumn(
        name="group", heading="group", side="left", gap=0, optional=True,
        cell=lambda row, context: str(row.group) if context.grouped else "",
        explanation="of sizes that are tuned with the same parameters",
    ),
    SizeColumn(
        name="problem size", heading="problem size", side="left", gap=0, in_sight=True, order=IN_FILE,
        cell=lambda row, _context: size_text(row.size),
        explanation="as the configuration lists it",
    ),
    SizeColumn(
        name="GFLOP/s", heading="GFLOP/s", in_sight=True,
        cell=lambda row, _context: _ABSENT if row.winner is None else gflops_words(row.winner.gflops),
        explanation="of the best solution so far",
    ),
    SizeColumn(
        name="gain", heading="gain", cell=_gain, in_sight=True, order=BY_GAIN, explanation="over the first run",
    ),
    SizeColumn(name="µs", heading="µs", cell=_microseconds, optional=True, explanation="of a launch of it"),
    SizeColumn(
        name="round", heading="round", cell=lambda row, _context: "" if row.winner is None else str(row.winner.round),
        explanation="in which it was found",
    ),
    SizeColumn(
        name="winner", heading="winner", least=9, side="left", gap=2, in_sight=True, stretches=True,
        cell=_winner_values,
        explanation="its values, first those that tell the winners apart; whole behind Enter",
    ),
)  # fmt: skip
"""From left to right; what no run has found is a dot."""


def _style(row: SizeRow, context: SizeContext) -> str:
    if row.winner is None:
        return "dim"
    return "bold" if row.winner.round == context.latest > 0 else ""


class SizeTable(ColumnTable[SizeRow, SizeContext]):
    """Problem sizes, a row each, with the best solution so far."""

    def __init__(self) -> None:
        super().__init__(SIZE_COLUMNS, key=lambda row: row.key, style=_style, table_id="sizes")


def runs_line(model: TensileViewModel) -> str:
    """What the last run had to do and how long it took, or what it says while it lasts."""
    run = model.last
    if run is None:
        return ""
    work = f"{round_words(run.round)}: {work_words(run.permutations, run.sizes)}"
    if run.outcome is None:
        before = f", {duration(model.seconds)} before it" if model.ended else ""
        return f"{work}{before} · {model.line or 'running'}"
    failure, took = run.outcome.failure, duration(run.outcome.seconds)
    ended = f"{work} in {took}" if failure is None else f"{round_words(run.round)}: {failure.kind} after {took}"
    return f"{ended}, {duration(model.seconds)} in all"
