"""The rows of the table of evaluations: which are shown and in which order; their tunables and states in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tui_tuner.format import tunable_value
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.text import clean
from tui_tuner.tui.columns import RowOrder
from tui_tuner.tui.picture import EvaluationRow

NEWEST = RowOrder[EvaluationRow]("newest", lambda row: (-row.number,))

FASTEST = RowOrder[EvaluationRow]("fastest", lambda row: (row.time, -row.number))
"""Failures and running ones stand at the end, the newest first."""

LIMIT = 500
"""At most so many rows are shown."""

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


def tunables(rows: Iterable[EvaluationRow], offered: Mapping[str, Sequence[Value]]) -> Tunables:
    """The tunables of all rows and the widths that their values need.

    Args:
        offered: the values of the kernel as given; what can have one value only needs no place, while it has it.
    """
    longest: dict[str, int] = {}
    fixed = {name: values[0] for name, values in offered.items() if len(values) == 1}
    for row in rows:
        for name, value in row.configuration.items():
            longest[name] = max(longest.get(name, 1), len(tunable_value(value)))
            if name in fixed and value != fixed[name]:
                del fixed[name]
    names = tuple(name for name in longest if name not in fixed) or tuple(longest)
    widths = tuple(max(len(short), longest[name]) for short, name in zip(short_names(names), names, strict=True))
    return Tunables(names, widths)


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


def visible_rows(
    rows: Iterable[EvaluationRow],
    titles: Mapping[str, str],
    order: RowOrder[EvaluationRow],
    words: Sequence[str],
    limit: int = LIMIT,
) -> list[EvaluationRow]:
    """The rows to show, in order; of too many the incumbent, the fastest half and the newest half."""
    chosen = [row for row in rows if not words or matches(row, titles.get(row.candidate, ""), words)]
    if len(chosen) > limit:
        incumbents = [row for row in chosen if row.incumbent]
        fastest = FASTEST.sort(chosen)[: limit // 2]
        newest = NEWEST.sort(chosen)[: limit - limit // 2 - len(incumbents)]
        chosen = list({row.number: row for row in (*incumbents, *fastest, *newest)}.values())
    return order.sort(chosen)
