"""Which column of a table is what. By name: their number depends on the problem type and on settings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.tensile.results.errors import ResultsError, shown

METRICS = ("GFlops", "GFlopsPerCU")
STRIDES = ("LDD", "LDC", "LDA", "LDB")
FLOPS = "TotalFlops"
WINNER_TIME, WINNER_INDEX, WINNER_NAME = "WinnerTimeUS", "WinnerIdx", "WinnerName"
_SIZE = re.compile(r"Size[I-Z]")
_KNOWN = frozenset(
    {
        *METRICS,
        *STRIDES,
        FLOPS,
        "TilesPerCu",
        "TotalGranularity",
        "WinnerGFlops",
        WINNER_TIME,
        WINNER_INDEX,
        WINNER_NAME,
    }
)


@dataclass(frozen=True)
class Columns:
    """The columns of a table by place, counted from 0.

    Attributes:
        names: of all columns.
        sizes: places of the problem's indices, in order.
        known: places of Tensile's own columns, by name.
        fields: places of columns that are neither Tensile's own nor a solution's.
        solutions: places of the solutions' columns, in order.
    """

    names: list[str]
    sizes: list[int]
    known: dict[str, int]
    fields: list[int]
    solutions: list[int]

    @property
    def metric(self) -> str:
        """What the speeds are."""
        return next(name for name in METRICS if name in self.known)


def understood(header: Sequence[str], file: Path, line: int) -> Columns:
    """The columns that a header names; every column behind Tensile's own counts as a solution's.

    Raises:
        ResultsError: two columns have one name, or one that is needed is missing.
    """
    names = [cell.strip() for cell in header]
    _without_repeats(names, file, line)
    sizes = sorted((at for at, name in enumerate(names) if _SIZE.fullmatch(name)), key=lambda at: names[at])
    known = {name: at for at, name in enumerate(names) if name in _KNOWN}
    if not any(metric in known for metric in METRICS):
        raise ResultsError(f"its first line is no header of a table: it lacks {METRICS[0]}", file=file, line=line)
    if not sizes:
        raise ResultsError("its header names no problem size (SizeI, SizeJ, ...)", file=file, line=line)
    last = max([*sizes, *known.values()])
    fields = [at for at in range(last) if at not in sizes and names[at] not in known]
    return Columns(names, sizes, known, fields, list(range(last + 1, len(names))))


def _without_repeats(names: Sequence[str], file: Path, line: int) -> None:
    seen: dict[str, int] = {}
    for at, name in enumerate(names, 1):
        if not name:
            raise ResultsError(f"column {at} has no name", file=file, line=line)
        if name in seen:
            message = f"columns {seen[name]} and {at} have the same name, {shown(name)}"
            raise ResultsError(message, file=file, line=line)
        seen[name] = at
