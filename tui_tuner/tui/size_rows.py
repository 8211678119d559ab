"""The table of problem sizes as data: which rows are shown, in which order, and what their cells say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tui_tuner.tensile.outcome import Place, SizeOutcome, Winner, size_text
from tui_tuner.tensile.values import value_text
from tui_tuner.tensile.words import gflops_words, round_words, seconds_words, values_words, work_words
from tui_tuner.text import clean
from tui_tuner.tui.formatting import factor
from tui_tuner.tui.tensile_picture import TensilePicture

SizeOrder = Literal["file", "gain"]

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


def size_rows(picture: TensilePicture) -> list[SizeRow]:
    """A row for every problem size that was measured, in the order of the file."""
    keys = sorted({**picture.outcomes, **picture.winners}, key=lambda key: key[0])
    return [_row(place, key, picture) for place, key in enumerate(keys)]


def _row(place: int, key: Place, picture: TensilePicture) -> SizeRow:
    measured_in, measured = picture.outcomes.get(key, (None, None))
    return SizeRow(place, *key, picture.winners.get(key), measured, measured_in)


def visible_sizes(rows: Sequence[SizeRow], order: SizeOrder, words: Sequence[str], limit: int = LIMIT) -> list[SizeRow]:
    """The rows to show, in order: as in the file, or the largest gain first and those without one at the end."""
    chosen = [row for row in rows if all(word in _searched(row) for word in words)]
    if order == "gain":
        chosen.sort(key=lambda row: -(row.winner.gain or 0.0) if row.winner is not None else 0.0)
    return chosen[:limit]


def _searched(row: SizeRow) -> str:
    """All that a filter looks at, values as in `DepthU=64`."""
    winner = row.winner
    words = [size_text(row.size), f"group={row.group}"]
    if winner is not None:
        words += [f"round={winner.round}", winner.solution, values_words(winner.values)]
        words += [f"{name}={value_text(value)}" for name, value in winner.values.items()]
    return " ".join(words).lower()


@dataclass(frozen=True)
class SizeCells:
    """What a row says, a text a column."""

    group: str
    size: str
    gflops: str
    gain: str
    microseconds: str
    round: str
    winner: str


def telling_first(rows: Sequence[SizeRow]) -> list[str]:
    """The winners' parameters: first those that tell the winners apart, as the column is cut at its end."""
    winners = [row.winner.values for row in rows if row.winner is not None]
    names = list(dict.fromkeys(name for values in winners for name in values))
    return sorted(names, key=lambda name: len({str(values.get(name)) for values in winners}) == 1)


def size_cells(row: SizeRow, names: Sequence[str]) -> SizeCells:
    """The cells of a row; what no run has found is a dot.

    Args:
        names: of the winners' parameters, in the order in which their values are told.
    """
    fixed, winner = (str(row.group), size_text(row.size)), row.winner
    if winner is None:
        return SizeCells(*fixed, _ABSENT, "", "", "", "no valid solution")
    values = {name: winner.values[name] for name in names if name in winner.values}
    return SizeCells(
        *fixed,
        gflops_words(winner.gflops),
        _ABSENT if winner.gain is None else factor(winner.gain),
        "" if winner.microseconds is None else f"{winner.microseconds:,.1f}",
        str(winner.round),
        " ".join(clean(values_words(values) or winner.solution).split()),
    )


def runs_line(picture: TensilePicture) -> str:
    """What the last run had to do and how long it took, or what it says while it lasts."""
    run = picture.last
    if run is None:
        return ""
    work = f"{round_words(run.round)}: {work_words(run.permutations, run.sizes)}"
    if run.outcome is None:
        before = f", {seconds_words(picture.seconds)} before it" if picture.ended else ""
        return f"{work}{before} · {picture.line or 'running'}"
    failure, took = run.outcome.failure, seconds_words(run.outcome.seconds)
    ended = f"{work} in {took}" if failure is None else f"{round_words(run.round)}: {failure.kind} after {took}"
    return f"{ended}, {seconds_words(picture.seconds)} in all"
