"""Where a run's results lie, and one group's table with its solutions."""

from __future__ import annotations

import re
from pathlib import Path

from tui_tuner.tensile.results.cells import Line
from tui_tuner.tensile.results.columns import WINNER_INDEX, WINNER_NAME, Columns
from tui_tuner.tensile.results.errors import ResultsError, shown
from tui_tuner.tensile.results.matching import matched
from tui_tuner.tensile.results.rows import lines_of, size_row
from tui_tuner.tensile.results.solutions import solutions_of
from tui_tuner.tensile.results.table import GroupTable, SizeRow

_DATA, _PROBLEMS = "2_BenchmarkData", "1_BenchmarkProblems"
_GROUP = re.compile(r"(?P<name>.+_(?P<number>\d{2,}))(_CSVWinner)?")
_MOST_NOTES = 5


def read_results(output: Path) -> list[GroupTable]:
    """The table of every size group that a run of Tensile left in its output directory, by name.

    Raises:
        ResultsError: there is none, or one cannot be understood.
    """
    files = _collected(output / _DATA) or _uncollected(output / _PROBLEMS)
    if not files:
        message = "Tensile left no results: there is no table in 2_BenchmarkData or 1_BenchmarkProblems/*/Data"
        raise ResultsError(message, file=output)
    return [_group_table(name, file) for name, file in sorted(files.items())]


def _collected(directory: Path) -> dict[str, Path]:
    """Tables by group; the newest where CSVExportWinner was on at one time and off at another."""
    found: dict[str, Path] = {}
    for file in sorted(directory.glob("*.csv"), key=lambda file: file.stat().st_mtime_ns):
        if match := _GROUP.fullmatch(file.stem):  # not the `_errors.csv` that newer versions write
            found[match["name"]] = file
    return found


def _uncollected(directory: Path) -> dict[str, Path]:
    files = {file.parent.parent.name: file for file in directory.glob("*/Data/00_Final.csv")}
    return {name: file for name, file in files.items() if _GROUP.fullmatch(name)}


def _group_table(name: str, file: Path) -> GroupTable:
    columns, lines = lines_of(file)
    columns, solutions = matched(columns, solutions_of(file.with_suffix(".yaml")), file)
    names = list(solutions)
    rows = [size_row(line, columns, names) for line in lines]
    if not rows:
        raise ResultsError("it has no row: Tensile measured no problem size", file=file)
    match = _GROUP.fullmatch(name)
    assert match is not None  # noqa: S101 - only such names were looked for
    return GroupTable(name, int(match["number"]), columns.metric, rows, solutions, _notes(lines, rows, columns, names))


def _notes(lines: list[Line], rows: list[SizeRow], columns: Columns, names: list[str]) -> list[str]:
    notes = []
    for line, row in zip(lines, rows, strict=True):
        told = _told_winner(line, columns, names)
        if told is not None and row.gflops.get(told) != row.winner_gflops:
            size = "x".join(map(str, row.size))
            notes.append(f"{size}: Tensile names {shown(told)} as the winner; by the table it is {_winner(row)}")
    more = len(notes) - _MOST_NOTES
    return notes if more <= 0 else [*notes[:_MOST_NOTES], f"the same at {more} more problem sizes"]


def _told_winner(line: Line, columns: Columns, names: list[str]) -> str | None:
    """The winner that the row names, else the one that it numbers; None where it does neither."""
    if WINNER_NAME in columns.known and (name := line.cells[columns.known[WINNER_NAME]].strip()):
        return name
    if WINNER_INDEX in columns.known and (number := line.number_at(columns.known[WINNER_INDEX])) is not None:
        return names[int(number)] if 0 <= number < len(names) else None
    return None


def _winner(row: SizeRow) -> str:
    return "none" if row.winner is None else f"{shown(row.winner)} with {row.winner_gflops:g} GFLOP/s"
