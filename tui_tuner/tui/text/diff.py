"""The difference of two sources: rows, hunks, one under the other or side by side, and where words stand in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

from rich.cells import cell_len, chop_cells
from textual.content import Content

from tui_tuner.format import counted
from tui_tuner.text import clean
from tui_tuner.tui.text.highlighting import PYGMENTS_NAMES, coloured

DiffKind = Literal["same", "added", "removed", "fold"]

CONTEXT = 3
"""Unchanged lines kept around a change."""


@dataclass(frozen=True)
class DiffRow:
    """One row of a diff.

    Attributes:
        number: the line, counted from 1: of the old source for `removed`, of the new one otherwise.
        lines: for a `fold`, how many unchanged lines it stands for.
    """

    kind: DiffKind
    number: int
    lines: int = 1


def _same(start: int, length: int, *, first: bool, last: bool) -> list[DiffRow]:
    """Unchanged lines of the new source from `start` (counted from 0), folded where they are many."""
    head = 0 if first else CONTEXT
    tail = 0 if last else CONTEXT
    hidden = length - head - tail
    rows = [DiffRow("same", start + index + 1) for index in range(length)]
    return rows if hidden <= 1 else [*rows[:head], DiffRow("fold", start + head + 1, hidden), *rows[length - tail :]]


def diff_rows(old: list[str], new: list[str]) -> list[DiffRow]:
    """The rows that lead from the old lines to the new ones; removed lines stand before added ones."""
    rows: list[DiffRow] = []
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for index, (tag, old_start, old_end, new_start, new_end) in enumerate(blocks):
        if tag == "equal":
            first, last = index == 0, index == len(blocks) - 1
            rows += _same(new_start, new_end - new_start, first=first, last=last)
            continue
        rows += [DiffRow("removed", line + 1) for line in range(old_start, old_end)]
        rows += [DiffRow("added", line + 1) for line in range(new_start, new_end)]
    return rows


def changed_lines(rows: list[DiffRow]) -> tuple[int, int]:
    """How many lines were added and removed."""
    return sum(row.kind == "added" for row in rows), sum(row.kind == "removed" for row in rows)


_TAB = 4
_SIGNS = {"same": " ", "added": "+", "removed": "-"}
_STYLES = {"added": "$text-success", "removed": "$text-error", "same": "$foreground-muted"}
_BACKGROUNDS = {"added": "on $success-muted", "removed": "on $error-muted"}


def _lines(source: str) -> list[str]:
    return clean(source).expandtabs(_TAB).rstrip("\n").split("\n")


@lru_cache(maxsize=4)
def _highlighted(lines: tuple[str, ...], language: str) -> Sequence[Content]:
    """Each line in colour, which most of the time goes into; without colour where the highlighter keeps no lines."""
    return coloured(lines, PYGMENTS_NAMES.get(language, "c")) or [Content(line) for line in lines]


def _row(row: DiffRow, text: Content, digits: int, width: int, tinted: bool) -> Iterator[Content]:
    """A line of the source, and what of it does not fit below, without a number."""
    style = _STYLES[row.kind]
    background = _BACKGROUNDS.get(row.kind) if tinted else None
    for start, end in _parts(text.plain, width):
        part, number = text[start:end], "" if start else str(row.number)
        gutter = Content.styled(f"{number:>{digits}} {_SIGNS[row.kind]} ", style)
        line = gutter + part.pad_right(max(0, width - part.cell_length))
        yield line if background is None else line.stylize_before(background)


def _parts(line: str, width: int) -> Iterator[tuple[int, int]]:
    """Where the parts of a line begin and end that fit so many cells; a word is broken where it is half of them."""
    start = 0
    while cell_len(line[start:]) > width:
        most = len(chop_cells(line[start:], width)[0])
        places = range(start + most // 2, start + most)
        end = 1 + max((at for at in places if not (line[at].isalnum() or line[at] == "_")), default=places[-1])
        yield start, end
        start = end
    yield start, len(line)


@cache
def _fold(lines: int, digits: int) -> Content:
    return Content.styled(f"{'⋯':>{digits}}   {counted(lines, 'unchanged line')}", "$foreground-muted italic")


def row_groups(rows: Sequence[DiffRow]) -> Iterator[list[DiffRow]]:
    """The rows that belong together: those of one change, each other one by itself."""
    change: list[DiffRow] = []
    for row in rows:
        if row.kind in ("removed", "added"):
            change.append(row)
            continue
        if change:
            yield change
            change = []
        yield [row]
    if change:
        yield change


_BEYOND = 1_000_000
"""More lines than any source has."""


class DiffPicture(NamedTuple):
    """A diff as it is drawn.

    Attributes:
        hunks: first and last line of each change, counted from 0 in the content.
        ends: in which cell each line ends.
    """

    content: Content
    hunks: Sequence[tuple[int, int]] = ()
    ends: Sequence[int] = ()

    def words(self, hunk: int) -> str:
        """One change as text, with its signs."""
        first, last = self.hunks[hunk]
        return "\n".join(line.rstrip() for line in self.content.plain.split("\n")[first : last + 1])

    def lines_with(self, words: str) -> list[int]:
        """The lines that contain some words, in whatever case."""
        wanted = words.lower()
        return [number for number, line in enumerate(self.content.plain.split("\n")) if wanted in line.lower()]

    def line_in(self, other: DiffPicture, line: int) -> int:
        """Where a line stands in another picture of the same diff, which may need more or fewer lines for a change."""
        here, there = self._marks, other._marks
        last = max(0, bisect_right(here, line) - 1)
        (start, end), (to, until) = here[last : last + 2], there[last : last + 2]
        return min(until, to + round((line - start) * (until - to) / max(1, end - start)))

    @property
    def _marks(self) -> list[int]:
        """Lines that all pictures of a diff have, in order: where changes begin and end, and far beyond the last."""
        changes = [mark for first, last in self.hunks for mark in (first, last + 1)]
        return [0, *changes, max(changes, default=0) + _BEYOND]


class _Painter:
    """Draws rows of a diff.

    Args:
        tinted: whether changed lines have a coloured background; a terminal's own 16 colours are too strong for one.
    """

    def __init__(self, old: list[str], new: list[str], language: str, *, tinted: bool) -> None:
        self._texts = {
            "removed": _highlighted(tuple(old), language),
            "added": _highlighted(tuple(new), language),
        }
        self._digits = len(str(max(len(old), len(new))))
        self._gutter = self._digits + 3
        self._tinted = tinted

    def half(self, columns: int, longest: int) -> int:
        """How many cells of source one of two halves has in so many columns."""
        return self.whole((columns - _BESIDE.cell_length) // 2, longest)

    def whole(self, columns: int, longest: int) -> int:
        """How many cells of source a line of so many columns has."""
        return min(longest, max(_LEAST_HALF, columns - self._gutter))

    def row(self, row: DiffRow, width: int, *, old_number: int | None = None) -> list[Content]:
        """One row, padded to so many cells of source; several where it is longer."""
        if row.kind == "fold":
            return [_fold(row.lines, self._digits)]
        text = self._texts["removed" if row.kind == "removed" else "added"][row.number - 1]
        shown = row if old_number is None else DiffRow(row.kind, old_number)
        return [*_row(shown, text, self._digits, width, self._tinted)]

    def beside(self, group: list[DiffRow], old_at: int, width: int) -> Iterator[Content]:
        """A group with what was at the left and what is at the right.

        Args:
            old_at: number of the old line of a group that is unchanged.
        """
        if group[0].kind == "fold":
            yield from self.row(group[0], width)
            return
        if group[0].kind == "same":
            yield from self._pairs(self.row(group[0], width, old_number=old_at), self.row(group[0], width), width)
            return
        removed, added = ([row for row in group if row.kind == kind] for kind in ("removed", "added"))
        for old, new in zip_longest(removed, added):
            left, right = ([] if row is None else self.row(row, width) for row in (old, new))
            yield from self._pairs(left, right, width)

    def _pairs(self, left: list[Content], right: list[Content], width: int) -> Iterator[Content]:
        blank = Content(" " * (self._gutter + width))
        for one, other in zip_longest(left, right, fillvalue=None):
            yield (blank if one is None else one) + _BESIDE + (Content() if other is None else other)


_BESIDE = Content.styled(" │ ", "$foreground-muted")
_LEAST_HALF = 20
"""Cells of source in one of two halves at the least: a narrower pane is scrolled."""


def diff_picture(
    old: str,
    new: str,
    language: str,
    *,
    tinted: bool = True,
    columns: int | None = None,
    broken_at: int | None = None,
) -> DiffPicture:
    """The diff of two sources, a line a row; takes tens of ms for long ones, a second for thousands of lines.

    Args:
        tinted: whether changed lines have a coloured background.
        columns: what there is for the two side by side, where longer lines are broken; None for one under the other.
        broken_at: cells of a line at which it is broken where they stand one under the other; None to break none.
    """
    if clean(old) == clean(new):
        return DiffPicture(Content.styled("no difference", "$foreground-muted italic"))
    old_lines, new_lines = _lines(old), _lines(new)
    rows = diff_rows(old_lines, new_lines)
    painter = _Painter(old_lines, new_lines, language, tinted=tinted)
    width = max(map(cell_len, old_lines + new_lines), default=0)
    half = 0 if columns is None else painter.half(columns, width)
    whole = width if broken_at is None else painter.whole(broken_at, width)
    added, removed = changed_lines(rows)
    lines = [Content.styled(f"+{added} -{removed} lines", "$foreground-muted")]
    hunks: list[tuple[int, int]] = []
    old_at = 1
    for group in row_groups(rows):
        first = len(lines)
        if half:
            lines += painter.beside(group, old_at, half)
        else:
            lines += (line for row in group for line in painter.row(row, whole))
        old_at += sum(row.lines for row in group if row.kind != "added")
        if group[0].kind in ("removed", "added"):
            hunks.append((first, len(lines) - 1))
    return DiffPicture(Content("\n").join(lines), hunks, [cell_len(line.plain.rstrip()) for line in lines])
