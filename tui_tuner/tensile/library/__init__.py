"""The library logic that Tensile writes: which solution a library takes at which size; read, explained and merged.

Such files have up to some hundred megabytes. The text of a solution is kept as it stands, and each different entry is
parsed once; so what a merge does not touch stays byte for byte as Tensile wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tui_tuner.tensile.result_tables import ResultsError, results_text
from tui_tuner.tensile.results import LARGEST_FILE, Entries, Solution, items_of, yaml_in
from tui_tuner.tensile.summary import NAMES_OF_SOLUTION

try:
    from yaml import CSafeDumper as _Dumper
except ImportError:  # PyYAML without its C library
    from yaml import SafeDumper as _Dumper  # type: ignore[assignment]

VERSION, SCHEDULE, ARCHITECTURE, DEVICES, PROBLEM, SOLUTIONS, _ORDER, TABLE = range(8)
"""Places in the list."""
DATA_TYPES = {0: "s", 1: "d", 2: "c", 3: "z", 4: "h", 5: "4xi8", 6: "I", 7: "b", 8: "I8"}
"""Tensile's letters of the numbers that it writes."""
_FEWEST = 9
_FROM_HERE_ON = 11
"""Where the way of matching stands differs between rocBLAS (12) and hipBLASLt (11)."""
MATCHINGS = ("Equality", "GridBased", "Euclidean", "Range", "FreeSize", "Prediction", "Ratio", "Manhattan")
_ITEM = re.compile(r"^-(?=[ \n])", re.MULTILINE)
_SHARED = re.compile(r"^ *(?:- )*(?:[\w.]+: )?&\w+(?: |$)", re.MULTILINE)
_INDEX = re.compile(r"^(  SolutionIndex:).*$", re.MULTILINE)
_NO_STAGGER = ("StaggerUMapping", "StaggerUStride", "_staggerStrideShift")
_STAGGER = re.compile(rf"^(  (?:{'|'.join(_NO_STAGGER)}):).*$", re.MULTILINE)
_LIKENESS = re.compile(r"^  ((?:DepthU|GlobalSplitU|MacroTile[01]|StreamK|WorkGroupMapping): .*)$", re.MULTILINE)
_UNKNOWN_LAYOUT = "Only lists as rocBLAS and hipBLASLt have them are read; TensileLite's own merge reads maps too."
Size = tuple[int, ...]


class _Unshared(_Dumper):
    """Writes every value out, also one that stands twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401 - as PyYAML has it
        return True


def dumped(value: Any) -> str:  # noqa: ANN401
    """YAML as Tensile writes it: lists of numbers on one line."""
    return yaml.dump(value, Dumper=_Unshared, default_flow_style=None)


@dataclass(frozen=True)
class LogicSolution:
    """A solution; parsed when it is asked for, since a file has thousands of which a few are.

    Attributes:
        text: an item of a list, the line breaks within it as they stand in the file.
    """

    text: str
    _line: int
    _entries: Entries

    @cached_property
    def values(self) -> Solution:
        """The solution's parameters.

        Raises:
            ResultsError: they are not valid YAML.
        """
        return self._entries.mapping(f" {self.text[1:]}", self._line)

    @cached_property
    def likeness(self) -> tuple[str, ...]:
        """Parts of the text that equal solutions share; quicker to compare than all values."""
        return tuple(_LIKENESS.findall(self.text))

    @cached_property
    def key(self) -> frozenset[tuple[str, Any]]:
        """What makes it the same as another: all parameters but number and names, as Tensile's own merge compares."""
        values = self.values
        if values.get("StaggerU") == 0:
            values = {**values, **dict.fromkeys(_NO_STAGGER, 0)}
        return frozenset((name, _frozen(value)) for name, value in values.items() if name not in NAMES_OF_SOLUTION)

    @property
    def name(self) -> str:
        """The solution as Tensile names it; empty where it does not."""
        return str(self.values.get("SolutionNameMin", ""))

    def numbered(self, index: int) -> LogicSolution:
        """This solution with another number, and with what follows from StaggerU 0 as Tensile's merge sets it."""
        text = self.text
        if f"\n  SolutionIndex: {index}\n" not in text:
            text = _INDEX.sub(rf"\g<1> {index}", text)
        if "\n  StaggerU: 0\n" in text:
            text = _STAGGER.sub(r"\1 0", text)
        return replace(self, text=text)


def _frozen(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return frozenset((key, _frozen(part)) for key, part in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class LogicRow:
    """A problem size with its solution.

    Attributes:
        solution: its place among the solutions.
        speed: GFLOP/s as a run of Tensile writes it; percent of the peak in many files that libraries ship.
    """

    size: Size
    solution: int
    speed: float


@dataclass(frozen=True)
class LibraryLogic:
    """A file of library logic.

    Attributes:
        items: text of each part of the list.
        matching: how a size that is not in the table is matched, as `GridBased`; empty where the file does not say.
    """

    file: Path
    items: tuple[str, ...]
    version: str
    schedule: str
    architecture: Any
    devices: tuple[str, ...]
    problem_type: dict[str, Any]
    solutions: tuple[LogicSolution, ...]
    rows: tuple[LogicRow, ...]
    matching: str = ""

    @property
    def gpu(self) -> str:
        """The GPU's architecture, as `gfx942`."""
        told = self.architecture
        return str(told.get("Architecture", "")) if isinstance(told, dict) else str(told)

    @property
    def indices(self) -> int:
        """Numbers that a problem size has, leading dimensions left out."""
        return int(self.problem_type.get("TotalIndices", 4))

    def text(self) -> str:
        """The file with its solutions and its table as they are now."""
        items = list(self.items)
        solutions = "".join(solution.text for solution in self.solutions)
        items[SOLUTIONS] = f"- {solutions.rstrip().replace(chr(10), f'{chr(10)}  ')}\n" if solutions else "- []\n"
        rows = [[list(row.size), [row.solution, row.speed]] for row in self.rows]
        items[TABLE] = dumped([rows]) if rows else "- null\n"
        return "".join(items)


def read_logic(file: Path) -> LibraryLogic:
    """Read a file of library logic.

    Raises:
        ResultsError: it cannot be read, or is none.
    """
    text = results_text(file, LARGEST_FILE).replace("\r\n", "\n")
    if "&" in text and _SHARED.search(text):
        text = dumped(yaml_in(text, file, 1))  # a shared value stands in one solution only, which may go
    parts = list(_parts(text, file))
    if len(parts) < _FEWEST:
        told = f"it is no library logic: a list of {_FEWEST} parts or more, it has {len(parts)}"
        raise ResultsError(told, file=file, line=1, hint=_UNKNOWN_LAYOUT)
    solutions = tuple(_solutions(*parts[SOLUTIONS], file))
    own = {place: _value(*parts[place], file) for place in range(len(parts)) if place not in (SOLUTIONS, TABLE)}
    version, problem = own[VERSION], own[PROBLEM]
    if not isinstance(version, dict) or "MinimumRequiredVersion" not in version or not isinstance(problem, dict):
        raise ResultsError("it is no library logic: no version, or no problem type", file=file, hint=_UNKNOWN_LAYOUT)
    return LibraryLogic(
        file=file,
        items=tuple(part for part, _ in parts),
        version=str(version["MinimumRequiredVersion"]),
        schedule=str(own[SCHEDULE]),
        architecture=own[ARCHITECTURE],
        devices=tuple(map(str, own[DEVICES] if isinstance(own[DEVICES], list) else [own[DEVICES]])),
        problem_type=problem,
        solutions=solutions,
        rows=tuple(_rows(*parts[TABLE], file, len(solutions))),
        matching=next((str(own[place]) for place in own if place >= _FROM_HERE_ON and own[place] in MATCHINGS), ""),
    )


def _parts(text: str, file: Path) -> Iterator[tuple[str, int]]:
    """Text of each part of the list, with the line that it begins on."""
    text = text.removesuffix("\n").removesuffix("\n...") + "\n"
    starts = [match.start() for match in _ITEM.finditer(text)]
    if not starts or text[: starts[0]].strip().removeprefix("---").strip():
        raise ResultsError("it is no library logic: no list", file=file, line=1, hint=_UNKNOWN_LAYOUT)
    line = 1 + text.count("\n", 0, starts[0])
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end], line
        line += text.count("\n", start, end)


def _value(part: str, line: int, file: Path) -> Any:  # noqa: ANN401
    return yaml_in(part, file, line)[0]


def _solutions(part: str, line: int, file: Path) -> Iterator[LogicSolution]:
    body = re.sub(r"^  ", "", part[2:], flags=re.MULTILINE)
    if body.strip() in ("[]", "null", ""):
        return
    entries = Entries(file)
    for at, item in items_of(body, file, line):
        if not _INDEX.search(item):
            raise ResultsError("a solution has no SolutionIndex", file=file, line=at)
        yield LogicSolution(f"-{item[1:]}", at, entries)


def _rows(part: str, line: int, file: Path, solutions: int) -> Iterator[LogicRow]:
    for row in _value(part, line, file) or []:
        match row:
            case [[*size], [int(index), int(speed) | float(speed)]] if size and all(isinstance(n, int) for n in size):
                if not 0 <= index < solutions:
                    told = f"the size {_text(size)} has solution {index}, and there are {solutions}"
                    raise ResultsError(told, file=file, line=line)
                yield LogicRow(tuple(size), index, speed)
            case _:
                raise ResultsError(
                    f"a row of its table is no size with a solution: {str(row)[:60]}", file=file, line=line
                )


def _text(size: list[int]) -> str:
    return "x".join(map(str, size))
