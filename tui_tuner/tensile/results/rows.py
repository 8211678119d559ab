"""A table of results: CSV with comma and blank between the cells, as Tensile's client writes it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from tui_tuner.tensile.results.cells import FAILED, Line
from tui_tuner.tensile.results.columns import FLOPS, STRIDES, WINNER_TIME, Columns, understood
from tui_tuner.tensile.results.errors import ResultsError, results_text
from tui_tuner.tensile.results.table import SizeRow

LARGEST_TABLE = 512 << 20
"""Bytes; one of 13,824 solutions at 256 sizes has about 35 MiB."""
_OPS_A_GFLOP_US = 1e3


def lines_of(file: Path) -> tuple[Columns, list[Line]]:
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
            lines.append(Line(file, at, columns.names, _fitting(cells, len(header), file, at)))
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
        raise ResultsError(f"the row has {len(cells)} cells, the header {columns}", file=file, line=line)
    return cells


def size_row(line: Line, columns: Columns, names: list[str]) -> SizeRow:
    """One row, with its winner.

    Args:
        names: of the solutions, one for each of their columns.

    Raises:
        ResultsError: a cell cannot be understood.
    """
    speeds = {name: line.speed_at(at) for name, at in zip(names, columns.solutions, strict=True)}
    failed = frozenset(name for name, speed in speeds.items() if speed == FAILED)
    measured = {name: speed for name, speed in speeds.items() if speed is not None and speed > 0}
    winner = max(measured, key=measured.__getitem__, default=None)
    flops = line.count_at(columns.known[FLOPS]) if FLOPS in columns.known else None
    return SizeRow(
        size=_size(line, columns),
        strides=_strides(line, columns),
        total_flops=flops,
        gflops={name: measured.get(name) for name in names},
        failed=failed,
        winner=winner,
        microseconds=None if winner is None else _microseconds(line, columns, flops, measured[winner]),
        fields={columns.names[at]: line.cells[at].strip() for at in columns.fields},
        line=line.number,
    )


def _size(line: Line, columns: Columns) -> tuple[int, ...]:
    counts = [line.count_at(at) for at in columns.sizes]
    for at, count in zip(columns.sizes, counts, strict=True):
        if count is None:
            line.refuse(at, "is not a size")
    return tuple(count for count in counts if count is not None)


def _strides(line: Line, columns: Columns) -> dict[str, int]:
    told = {name: line.count_at(columns.known[name]) for name in STRIDES if name in columns.known}
    return {name: count for name, count in told.items() if count is not None}


def _microseconds(line: Line, columns: Columns, flops: int | None, gflops: float) -> float | None:
    told = line.number_at(columns.known[WINNER_TIME]) if WINNER_TIME in columns.known else None
    if told is not None and told > 0:
        return told
    if flops is None or columns.metric != "GFlops":
        return None
    return flops / gflops / _OPS_A_GFLOP_US
