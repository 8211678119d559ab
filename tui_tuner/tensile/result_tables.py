"""The tables that Tensile leaves behind: columns, cells, and a row a problem size."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tui_tuner.errors import UserError
from tui_tuner.resources import how_to_unpack, is_packed
from tui_tuner.text import clean

_LONGEST_NAME = 80
FAILED = -1.0
"""What Tensile writes in the place of a speed for a solution with wrong results, or one that it refused to run."""
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
        "WinnerFreq",
        "WinnerGFlops",
        WINNER_TIME,
        WINNER_INDEX,
        WINNER_NAME,
        "WinnerPower",
        "WinnerTemperature",
    }
)
LARGEST_TABLE = 512 << 20
"""Bytes; one of 13,824 solutions at 256 sizes has about 35 MiB."""
_OPS_A_GFLOP_US = 1e3


class ResultsError(UserError):
    """Results of Tensile that are missing or malformed."""


def results_text(file: Path, largest: int) -> str:
    """The text of a file of results.

    Raises:
        ResultsError: it is missing, larger than `largest` bytes, or not text.
    """
    try:
        size = file.stat().st_size
        if size > largest:
            raise ResultsError(f"it has {size >> 20} MiB; at most {largest >> 20} MiB are read", file=file)
        raw = file.read_bytes()
    except OSError as error:
        raise ResultsError(f"it cannot be read: {error.strerror}", file=file) from error
    if is_packed(raw):
        raise ResultsError("it is packed", hint=how_to_unpack(file), file=file)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ResultsError("it is not text", file=file, line=line) from error
    if "\0" in text:
        raise ResultsError("it is not text", file=file, line=text.count("\n", 0, text.index("\0")) + 1)
    return text


def shown(name: str) -> str:
    """A name out of a file, safe to print and no longer than a line."""
    name = clean(name).replace("\n", " ")
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


@dataclass(frozen=True)
class TableLine:
    """One row's cells, with the place that errors name.

    Attributes:
        names: of the columns.
        number: of the line, counted from 1.
    """

    file: Path
    number: int
    names: list[str]
    cells: list[str]

    def number_at(self, column: int) -> float | None:
        """The number in a column, None for an empty cell.

        Raises:
            ResultsError: it is no finite number.
        """
        text = self.cells[column].strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            self.refuse(column, "is not a number")
        if not math.isfinite(value):
            self.refuse(column, "is not a finite number")
        return value

    def count_at(self, column: int) -> int | None:
        """The whole number in a column, None for an empty cell.

        Raises:
            ResultsError: it is none.
        """
        value = self.number_at(column)
        if value is None:
            return None
        if value != int(value) or value < 0:
            self.refuse(column, "is not a count")
        return int(value)

    def speed_at(self, column: int) -> float | None:
        """The speed in a column: None where the solution was not run, 0 where it was skipped, -1 where it failed.

        Raises:
            ResultsError: it is none of these.
        """
        value = self.number_at(column)
        if value is not None and value < 0 and value != FAILED:
            self.refuse(column, "is not a speed")
        return value

    def refuse(self, column: int, complaint: str) -> NoReturn:
        """Raise the error of a cell that cannot be understood."""
        place = f"column {column + 1} ({shown(self.names[column])})"
        raise ResultsError(f"{place}: {shown(self.cells[column])!r} {complaint}", file=self.file, line=self.number)


@dataclass(frozen=True)
class ResultColumns:
    """The columns of a table by place, counted from 0.

    Attributes:
        names: of all columns.
        sizes: places of the problem's indices, in order.
        known: places of Tensile's own columns, by name.
        others: places of all other columns, in order: those of the solutions, and what describes the problem.
    """

    names: list[str]
    sizes: list[int]
    known: dict[str, int]
    others: list[int]

    @property
    def metric(self) -> str:
        """What the speeds are."""
        return next(name for name in METRICS if name in self.known)


def understood(header: Sequence[str], file: Path, line: int) -> ResultColumns:
    """The columns that a header names.

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
    own = {*sizes, *known.values()}
    return ResultColumns(names, sizes, known, [at for at in range(len(names)) if at not in own])


def _without_repeats(names: Sequence[str], file: Path, line: int) -> None:
    seen: dict[str, int] = {}
    for at, name in enumerate(names, 1):
        if not name:
            raise ResultsError(f"column {at} has no name", file=file, line=line)
        if name in seen:
            message = f"columns {seen[name]} and {at} have the same name, {shown(name)}"
            raise ResultsError(message, file=file, line=line)
        seen[name] = at


@dataclass(frozen=True)
class ResultRow:
    """One row of a table: one problem, run once with every solution.

    Attributes:
        size: the problem's indices, as in `Exact`.
        strides: LDD, LDC, LDA and LDB, where the table tells them.
        total_flops: floating-point operations of the problem; None where it is not told.
        gflops: speed by solution, in GFLOP/s (per compute unit where the table's metric says so); None for a
            solution that failed, was not run, or was skipped as slow.
        failed: solutions that gave wrong results, or that Tensile refused to run at this size.
        winner: the fastest solution; None where none has a speed.
        microseconds: of the winner's launch; None where it cannot be told.
        fields: what else the table says of the problem, as its bias or activation, by column.
        line: of the file, counted from 1.
    """

    size: tuple[int, ...]
    strides: dict[str, int]
    total_flops: int | None
    gflops: dict[str, float | None]
    failed: frozenset[str]
    winner: str | None
    microseconds: float | None
    fields: dict[str, str] = field(default_factory=dict)
    line: int = 0

    @property
    def winner_gflops(self) -> float | None:
        """The winner's speed."""
        return None if self.winner is None else self.gflops[self.winner]


@dataclass(frozen=True)
class GroupTable:
    """What one size group gave.

    Attributes:
        name: of the problem type with the group's number, as in `Cijk_Ailk_Bljk_HB_00`.
        number: of the group in its problem, the `_NN` of the file's name.
        metric: `GFlops`, or `GFlopsPerCU` where speeds are a compute unit's share.
        rows: in the order of the file; a problem that was benchmarked several times has several.
        solutions: parameters by solution, in Tensile's order.
        notes: what a reader should know, as a winner that Tensile names otherwise.
    """

    name: str
    number: int
    metric: str
    rows: list[ResultRow]
    solutions: dict[str, dict[str, object]]
    notes: list[str] = field(default_factory=list)


def table_lines(file: Path) -> tuple[ResultColumns, list[TableLine]]:
    """The columns and the rows of a table; a header that is repeated between rows is left out.

    Raises:
        ResultsError: it cannot be read, is empty, or a row has not one cell for each column.
    """
    rows = _csv_rows(results_text(file, LARGEST_TABLE), file)
    try:
        number, header = next(rows)
    except StopIteration:
        raise ResultsError("it is empty: Tensile wrote no result", file=file) from None
    if len(header) > 1 and not header[-1].strip():  # a comma at the line's end
        header = header[:-1]
    columns = understood(header, file, number)
    lines = []
    for at, cells in rows:
        if [cell.strip() for cell in cells[: len(header)]] != columns.names:
            lines.append(TableLine(file, at, columns.names, _fitting(cells, len(header), file, at)))
    return columns, lines


def _csv_rows(text: str, file: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ResultsError(f"it is no table: {error}", file=file, line=reader.line_num) from error


def _fitting(cells: list[str], columns: int, file: Path, line: int) -> list[str]:
    if len(cells) == columns + 1 and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) != columns:
        hint = None if len(cells) > columns else "Where the run was cut off, without that row the others can be read."
        raise ResultsError(f"the row has {len(cells)} cells, the header {columns}", hint=hint, file=file, line=line)
    return cells


def size_row(line: TableLine, columns: ResultColumns, places: Mapping[str, int]) -> ResultRow:
    """One row, with its winner.

    Args:
        places: of the solutions' columns, by the solution's name; the other unknown ones describe the problem.

    Raises:
        ResultsError: a cell cannot be understood.
    """
    speeds = {name: line.speed_at(at) for name, at in places.items()}
    solved = frozenset(places.values())
    failed = frozenset(name for name, speed in speeds.items() if speed == FAILED)
    measured = {name: speed for name, speed in speeds.items() if speed is not None and speed > 0}
    winner = max(measured, key=measured.__getitem__, default=None)
    flops = line.count_at(columns.known[FLOPS]) if FLOPS in columns.known else None
    return ResultRow(
        size=_size(line, columns),
        strides=_strides(line, columns),
        total_flops=flops,
        gflops={name: measured.get(name) for name in places},
        failed=failed,
        winner=winner,
        microseconds=None if winner is None else _microseconds(line, columns, flops, measured[winner]),
        fields={columns.names[at]: line.cells[at].strip() for at in columns.others if at not in solved},
        line=line.number,
    )


def _size(line: TableLine, columns: ResultColumns) -> tuple[int, ...]:
    counts = [line.count_at(at) for at in columns.sizes]
    for at, count in zip(columns.sizes, counts, strict=True):
        if count is None:
            line.refuse(at, "is not a size")
    return tuple(count for count in counts if count is not None)


def _strides(line: TableLine, columns: ResultColumns) -> dict[str, int]:
    told = {name: line.count_at(columns.known[name]) for name in STRIDES if name in columns.known}
    return {name: count for name, count in told.items() if count is not None}


def _microseconds(line: TableLine, columns: ResultColumns, flops: int | None, gflops: float) -> float | None:
    told = line.number_at(columns.known[WINNER_TIME]) if WINNER_TIME in columns.known else None
    if told is not None and told > 0:
        return told
    if flops is None or columns.metric != "GFlops":
        return None
    return flops / gflops / _OPS_A_GFLOP_US
