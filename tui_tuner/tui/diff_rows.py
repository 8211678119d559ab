"""The difference of two sources as rows: lines with signs and numbers, long unchanged parts folded."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

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
    if hidden <= 1:
        return [DiffRow("same", start + index + 1) for index in range(length)]
    top = [DiffRow("same", start + index + 1) for index in range(head)]
    bottom = [DiffRow("same", start + length - tail + index + 1) for index in range(tail)]
    return [*top, DiffRow("fold", start + head + 1, hidden), *bottom]


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
