"""The table of problem sizes: its rows, its columns, each in one place, its widget, and all about one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.content import Content

from tui_tuner.format import counted, duration, factor
from tui_tuner.session.events import SessionFinished
from tui_tuner.tensile.document.configuration import value_text
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.outcome import (
    Contender,
    SizeKey,
    SizeOutcome,
    Winner,
    gflops_words,
    round_words,
    size_text,
    values_words,
    work_words,
)
from tui_tuner.tensile.screen_model import TensileViewModel
from tui_tuner.text import clean
from tui_tuner.tui.columns import Column, RowOrder, best_chart
from tui_tuner.tui.plain import one_line, plain
from tui_tuner.tui.subject import BenchmarkContents, shown_of
from tui_tuner.tui.table import ColumnTable
from tui_tuner.tui.texts import pairs_table
from tui_tuner.tui.view_model import ViewModel

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


def visible_sizes(
    rows: Sequence[SizeRow], order: RowOrder[SizeRow], words: Sequence[str], limit: int = LIMIT
) -> list[SizeRow]:
    """The rows to show, in order."""
    return order.sort([row for row in rows if all(word in _searched(row) for word in words)])[:limit]


def _searched(row: SizeRow) -> str:
    """All that a filter looks at, values as in `DepthU=64`."""
    winner = row.winner
    words = [size_text(row.size), f"group={row.group}"]
    if winner is not None:
        words += [f"round={winner.round}", winner.solution, values_words(winner.values)]
        words += [f"{name}={value_text(value)}" for name, value in winner.values.items()]
    return " ".join(words).lower()


def telling_first(rows: Sequence[SizeRow]) -> list[str]:
    """The winners' parameters: first those that tell the winners apart, as the column is cut at its end."""
    winners = [row.winner.values for row in rows if row.winner is not None]
    names = list(dict.fromkeys(name for values in winners for name in values))
    return sorted(names, key=lambda name: len({str(values.get(name)) for values in winners}) == 1)


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
    return " ".join(clean(values_words(values) or row.winner.solution).split())


SizeColumn = Column[SizeRow, SizeContext]

SIZE_COLUMNS = (
    SizeColumn(
        name="group", heading="group", side="left", gap=0, optional=True,
        cell=lambda row, context: str(row.group) if context.grouped else "",
        explanation="of sizes that are tuned with the same parameters",
    ),
    SizeColumn(
        name="problem size", heading="problem size", side="left", gap=0, order=IN_FILE,
        cell=lambda row, _context: size_text(row.size),
        explanation="as the configuration lists it",
    ),
    SizeColumn(
        name="GFLOP/s", heading="GFLOP/s",
        cell=lambda row, _context: _ABSENT if row.winner is None else gflops_words(row.winner.gflops),
        explanation="of the best solution so far",
    ),
    SizeColumn(name="gain", heading="gain", cell=_gain, order=BY_GAIN, explanation="over the first run"),
    SizeColumn(name="µs", heading="µs", cell=_microseconds, optional=True, explanation="of a launch of it"),
    SizeColumn(
        name="round", heading="round", cell=lambda row, _context: "" if row.winner is None else str(row.winner.round),
        explanation="in which it was found",
    ),
    SizeColumn(
        name="winner", heading="winner", least=120, side="left", gap=2, cell=_winner_values,
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
    pairs = [
        ("winner", winner.solution),
        ("found in", f"round {winner.round}"),
        ("speed", f"{gflops_words(winner.gflops)} GFLOP/s"),
        ("gain", gain),
        ("a launch", time),
    ]
    values = "\n".join(f"  {name} = {value_text(value)}" for name, value in winner.values.items())
    return pairs_table(pairs) + (plain(f"\n{values}") if values else "")


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
        yield Content(f"{place:>4} {gflops_words(one.gflops):>9}  ") + what


def _rejected(row: SizeRow, model: TensileViewModel) -> list[Content]:
    """The permutations of the size's group that Tensile made no kernel of, by reason."""
    run = model.runs.get(row.measured_in) if row.measured_in is not None else None
    groups = [] if run is None or run.outcome is None else run.outcome.groups
    reasons = next((group.rejected for group in groups if group.group == row.group), {})
    if not reasons:
        return []
    head = Content.styled("rejected permutations", "$foreground-muted")
    lines = [Content(f"{number:>4}  ") + one_line(reason) for reason, number in reasons.items()]
    return [Content("\n").join([head, *lines])]


class SizeContents(BenchmarkContents):
    """Problem sizes with their winners."""

    relevant = (BenchmarkStarted, BenchmarkOutput, BenchmarkFinished, WinnersChanged, SessionFinished)

    def __init__(self, model: TensileViewModel) -> None:
        self._model = model
        self.table: SizeTable = SizeTable()

    def draw(self, view_model: ViewModel, words: Sequence[str], order: int) -> str:
        """The line below says what the last run had to do and how long it took."""
        rows = size_rows(self._model)
        shown = visible_sizes(rows, self.table.orders[order], words)
        self.table.draw(shown, SizeContext.of(shown, max(self._model.means, default=0)))
        return shown_of(len(shown), len(rows)) + runs_line(self._model)

    def chart(self, view_model: ViewModel, width: int, height: int) -> Content:
        """The geometric mean of the best GFLOP/s after each run."""
        title = "mean of best" if len(self._model.winners) > 1 else "best so far"
        means = list(self._model.means.values())
        return best_chart(means, "GFLOP/s", width, height, title=title, words=gflops_words)

    def about(self, view_model: ViewModel, key: str) -> tuple[Content, Content]:
        """The winner, the ranking of the last run and what was rejected."""
        row = next(row for row in size_rows(self._model) if row.key == key)
        return size_dialog(row, self._model)
