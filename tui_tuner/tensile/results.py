"""Reads what a run left behind: the tables with the solutions they are of, matched.

A file has thousands of solutions of some hundred parameters each, few of them different. So its text is cut into
entries (`DepthU: 32`), and each different one is parsed once: seconds instead of minutes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tui_tuner.tensile.document.yaml_text import loaded
from tui_tuner.tensile.result_tables import (
    WINNER_INDEX,
    WINNER_NAME,
    GroupTable,
    ResultColumns,
    ResultRow,
    ResultsError,
    TableLine,
    results_text,
    shown,
    size_row,
    table_lines,
)

LARGEST_FILE = 1 << 30
"""Bytes; 8192 solutions have about 80 MiB."""
MOST_SOLUTIONS = 200_000
_CUT_OFF = "it ends within a solution: it was not written to its end"
_HEADER = re.compile(r"  (MinimumRequiredVersion|ProblemSizes|BiasTypeArgs|ActivationArgs|FactorDimArgs):")
_NESTING = ("[", "{", "- ", "? ")
_MOST_NESTED = 1000
"""Collections in one entry; at some ten thousand within each other, the library written in C crashes."""
_TOO_DEEP = re.compile(r"(?:[\[{]\s*){100}|(?:[-?] ){100}|^ {500}", re.MULTILINE)
_ITEM = re.compile(r"^-(?= )", re.MULTILINE)
_ENTRY = re.compile(r"^  (?=[^ \n#-])", re.MULTILINE)
_ANCHOR = re.compile(r"[\w.]+:\s+&(\w+)\s")
_ALIAS = re.compile(r"([\w.]+):\s+\*(\w+)\s*")

Solution = dict[str, object]
_NAME = "SolutionNameMin"
_DATA, _PROBLEMS = "2_BenchmarkData", "1_BenchmarkProblems"
_OF_A_SOLUTION = re.compile(r"Cij[a-z]*_A[a-z]+_B[a-z]+_")
"""How the name of every solution of a contraction begins."""
_GROUP = re.compile(r"(?P<name>.+_(?P<number>\d{2,}))(_CSVWinner)?")
_MOST_NOTES = 5
_OF_A_PROBLEM = {"BiasType", "ActivationType", "FactorDim", "ProblemIndex"}
"""Columns with which TensileLite tells rows of one size apart."""


def yaml_in(text: str, file: Path, line: int) -> Any:  # noqa: ANN401 - whatever the file says
    """What a part of a file of results says, which begins on `line`.

    Raises:
        ResultsError: it is not valid YAML, or so deeply nested that the library written in C would crash.
    """
    if _TOO_DEEP.search(text):
        raise ResultsError("it is nested too deeply", file=file, line=line)
    try:
        return loaded(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ResultsError("it is not valid YAML", file=file, line=line) from error


def solutions_of(file: Path) -> list[Solution]:
    """The parameters of every solution, in the order of the file.

    Raises:
        ResultsError: it cannot be read, is no list of solutions, or ends within one.
    """
    text = results_text(file, LARGEST_FILE)
    if not text.strip():
        raise ResultsError("it is empty: Tensile wrote no solution", file=file)
    if not text.endswith("\n"):
        raise ResultsError(_CUT_OFF, file=file, line=text.count("\n") + 1)
    entries = Entries(file)
    solutions: list[Solution] = []
    for line, item in items_of(text, file):
        if solutions or not _HEADER.match(item):
            solutions.append(entries.mapping(item, line))
        if len(solutions) > MOST_SOLUTIONS:
            raise ResultsError(f"it has more than {MOST_SOLUTIONS} solutions", file=file)
    if not solutions:
        raise ResultsError("it names no solution", file=file)
    _not_cut_off(solutions, text, file)
    return solutions


def items_of(text: str, file: Path, line: int = 1) -> Iterator[tuple[int, str]]:
    """The items of the list in the text, with the line that each starts on; the text begins on `line`.

    Raises:
        ResultsError: it is no list.
    """
    starts = [match.start() for match in _ITEM.finditer(text)]
    before = text[: starts[0]] if starts else text
    if not starts or before.strip().removeprefix("---").strip():
        raise ResultsError("it is no list of solutions", file=file, line=line)
    at = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line += text.count("\n", at, start)
        at = start
        yield line, " " + text[start + 1 : end]


@dataclass
class Entries:
    """Parses entries, each different one once.

    Attributes:
        anchored: values by anchor; PyYAML writes `&id001` where two solutions share a list.
    """

    file: Path
    parsed: dict[str, Solution] = field(default_factory=dict)
    anchored: dict[str, object] = field(default_factory=dict)

    def mapping(self, item: str, line: int) -> Solution:
        """The parameters of one item of the list, which begins on `line`.

        Raises:
            ResultsError: it is no map.
        """
        starts = [match.start() for match in _ENTRY.finditer(item)]
        if not starts or item[: starts[0]].strip():
            raise ResultsError("an item of the list is not a solution", file=self.file, line=line)
        result: Solution = {}
        for start, end in zip(starts, [*starts[1:], len(item)], strict=True):
            entry = item[start:end]
            known = self.parsed.get(entry)
            if known is None:
                known = self.parsed[entry] = self._entry(entry, line + item.count("\n", 0, start))
            result.update(known)
        return result

    def _entry(self, entry: str, line: int) -> Solution:
        if alias := _ALIAS.fullmatch(entry.strip()):
            if alias[2] not in self.anchored:
                raise ResultsError(f"*{alias[2]} is not defined", file=self.file, line=line)
            return {alias[1]: self.anchored[alias[2]]}
        if sum(map(entry.count, _NESTING)) > _MOST_NESTED:
            raise ResultsError("it is nested too deeply", file=self.file, line=line)
        try:
            value = loaded(entry)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise self._malformed(error, line) from error
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise ResultsError("it is not valid YAML", file=self.file, line=line)
        if anchor := _ANCHOR.match(entry.strip()):
            self.anchored[anchor[1]] = next(iter(value.values()))
        return value

    def _malformed(self, error: Exception, line: int) -> ResultsError:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None)
        offset = 0 if mark is None else mark.line
        return ResultsError(f"it is not valid YAML: {problem or 'it ends early'}", file=self.file, line=line + offset)


def _not_cut_off(solutions: list[Solution], text: str, file: Path) -> None:
    """Refuse a file whose last solution lacks keys: they are written in order, so it was not written to its end."""
    first, last = list(solutions[0]), list(solutions[-1])
    if len(last) < len(first) and last == first[: len(last)]:
        raise ResultsError(_CUT_OFF, file=file, line=text.count("\n"))


def matched(columns: ResultColumns, solutions: list[Solution], file: Path) -> dict[str, tuple[int, Solution]]:
    """Place of the column and solution, by the column's name.

    By name where every solution's is there. Else by place, as Tensile's own logic does: the last columns are those of
    the solutions, in their order; for Tensile shortens a name to what tells solutions apart, and may do so differently
    in the two files, or leave it out of one. What a name tells of its solution must be so: where columns were put into
    another order, it tells which is whose.

    Raises:
        ResultsError: table and file are not of the same solutions.
    """
    at = {columns.names[place]: place for place in columns.others}
    named = {str(solution.get(_NAME)): solution for solution in solutions}
    if len(named) == len(solutions) and named.keys() <= at.keys():
        found = {name: (at[name], solution) for name, solution in named.items()}
        if not any(_OF_A_SOLUTION.match(name) for name in at.keys() - named.keys()):
            return found
    places = _places(columns, len(solutions))
    if (
        not named.keys() <= at.keys()
        and len(places) == len(solutions)
        and not _contradicted(columns, places, solutions)
        and (ordered := _as_named(columns, places, solutions))
    ):
        return {columns.names[place]: (place, one) for place, one in zip(ordered, solutions, strict=True)}
    message = f"it has columns for {len(places)} solutions, but its .yaml has {len(solutions)}"
    if len(places) == len(solutions):
        message = "its columns are of other solutions than its .yaml, or in another order"
    raise ResultsError(message, hint="The two are not of one run, or one of them was cut off.", file=file, line=1)


def _places(columns: ResultColumns, solutions: int) -> list[int]:
    """Places of the solutions' columns, told by how names of solutions begin; else those behind Tensile's own."""
    called = [place for place in columns.others if _OF_A_SOLUTION.match(columns.names[place])]
    last_own = max([*columns.sizes, *columns.known.values()])
    return called if len(called) == solutions else [place for place in columns.others if place > last_own]


def _contradicted(columns: ResultColumns, places: list[int], solutions: list[Solution]) -> bool:
    """Whether a name is that of a solution with another number."""
    numbers = {str(solution.get(_NAME)): number for number, solution in enumerate(solutions)}
    return any(numbers.get(columns.names[place], number) != number for number, place in enumerate(places))


_PART = re.compile(r"_([A-Z0-9]*[A-Z])(n?\d+(?:[_x]n?\d+)*)(?=_|$)")
"""A parameter in a solution's name: the capitals of its name and a value, as in `_GSU4`, `_TT2_32`, `_MT64x64x32`."""
_TILE, _OF_THE_TILE = "MT", ("MacroTile0", "MacroTile1", "DepthU")


def _as_named(columns: ResultColumns, places: list[int], solutions: list[Solution]) -> list[int]:
    """The places in the order of the solutions, by what the columns' names tell; empty where they contradict."""
    told = [_parts(columns.names[place]) for place in places]
    states = [_abbreviated(one, told[0].keys()) for one in solutions]
    common = [part for part in told[0] if all(part in one for one in (*told, *states))]
    names, are = [[tuple(one[part] for part in common) for one in several] for several in (told, states)]
    if names == are:
        return places
    place_of = dict(zip(names, places, strict=True))
    if len(place_of) == len(places) and place_of.keys() == set(are):
        return [place_of[one] for one in are]
    # other parts may have been written before Tensile derived them, the tile was not
    tiles = [(one.get(_TILE), is_.get(_TILE)) for one, is_ in zip(told, states, strict=True)]
    return places if all(None in pair or pair[0] == pair[1] for pair in tiles) else []


def _parts(name: str) -> dict[str, str]:
    return {part: value.replace("x", "_") for part, value in _PART.findall(name)}


def _abbreviated(solution: Solution, wanted: Container[str]) -> dict[str, str]:
    """The parameters as names of solutions have them, without those whose capitals are those of another one."""
    found: dict[str, set[str]] = defaultdict(set)
    tile = [solution.get(name) for name in _OF_THE_TILE]
    for name, value in {**solution, _TILE: tile}.items():
        if (short := _capitals(name)) in wanted:
            found[short].add(_written(value))
    return {name: value for name, (value, *others) in found.items() if value and not others}


def _written(value: object) -> str:
    """A whole number, a switch or a list of them; nothing for what names have otherwise."""
    if isinstance(value, list):
        parts = [_written(part) for part in value]
        return "_".join(parts) if all(parts) else ""
    return f"{value:d}".replace("-", "n") if isinstance(value, int) else ""


@cache
def _capitals(name: str) -> str:
    return "".join(letter for letter in name if not letter.islower())


def read_results(output: Path) -> list[GroupTable]:
    """The table of every size group that a run of Tensile left in its output directory, by name.

    Raises:
        ResultsError: there is none, or one cannot be understood.
    """
    files = _collected(output / _DATA) or _uncollected(output / _PROBLEMS)
    if not files:
        message = "Tensile left no results: there is no table in 2_BenchmarkData or 1_BenchmarkProblems/*/Data"
        others = sorted(file.name for file in (output / _DATA).glob("*.csv"))
        hint = f"{shown(others[0])} is not named as Tensile names tables: PROBLEM_00.csv" if others else None
        raise ResultsError(message, file=output, hint=hint)
    return [_group_table(name, file) for name, file in sorted(files.items())]


def _collected(directory: Path) -> dict[str, Path]:
    """The table of each group; where runs with and without CSVExportWinner left two, the newer one."""
    found: dict[str, Path] = {}
    for file in sorted(directory.glob("*.csv"), key=lambda file: file.stat().st_mtime_ns):
        if match := _GROUP.fullmatch(file.stem):  # not the `_errors.csv` that newer versions write
            found[match["name"]] = file
    return found


def _uncollected(directory: Path) -> dict[str, Path]:
    files = {file.parent.parent.name: file for file in directory.glob("*/Data/00_Final.csv")}
    return {name: file for name, file in files.items() if _GROUP.fullmatch(name)}


def _group_table(name: str, file: Path) -> GroupTable:
    columns, lines = table_lines(file)
    found = matched(columns, solutions_of(file.with_suffix(".yaml")), file)
    places = {name: place for name, (place, _) in found.items()}
    rows = [size_row(line, columns, places) for line in lines]
    if not rows:
        raise ResultsError("it has no row: Tensile measured no problem size", file=file)
    match = _GROUP.fullmatch(name)
    assert match is not None  # noqa: S101 - only such names were looked for
    solutions = {name: solution for name, (_, solution) in found.items()}
    notes = [*_unknown(rows[0]), *_notes(lines, rows, columns, list(places))]
    return GroupTable(name, int(match["number"]), columns.metric, rows, solutions, notes)


def _unknown(row: ResultRow) -> list[str]:
    names = sorted(row.fields.keys() - _OF_A_PROBLEM)
    return [f"columns that are not known here are passed over: {', '.join(map(shown, names))}"] if names else []


def _notes(lines: list[TableLine], rows: list[ResultRow], columns: ResultColumns, names: list[str]) -> list[str]:
    notes = []
    for line, row in zip(lines, rows, strict=True):
        told = _told_winner(line, columns, names)
        if told is not None and row.gflops.get(told) != row.winner_gflops:
            size = "x".join(map(str, row.size))
            notes.append(f"{size}: Tensile names {shown(told)} as the winner; by the table it is {_winner(row)}")
    more = len(notes) - _MOST_NOTES
    return notes if more <= 0 else [*notes[:_MOST_NOTES], f"the same at {more} more problem sizes"]


def _told_winner(line: TableLine, columns: ResultColumns, names: list[str]) -> str | None:
    """The winner that the row names, else the one that it numbers; None where it does neither."""
    if WINNER_NAME in columns.known and (name := line.cells[columns.known[WINNER_NAME]].strip()):
        return name
    if WINNER_INDEX in columns.known and (number := line.number_at(columns.known[WINNER_INDEX])) is not None:
        return names[int(number)] if 0 <= number < len(names) else None
    return None


def _winner(row: ResultRow) -> str:
    return "none" if row.winner is None else f"{shown(row.winner)} with {row.winner_gflops:g} GFLOP/s"
