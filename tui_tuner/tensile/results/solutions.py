"""The solutions of a table: a list in YAML, two to four entries of a header before them.

A file has thousands of solutions of some hundred parameters each, few of them different. So its text is cut into
entries (`DepthU: 32`), and each different one is parsed once: seconds instead of minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tui_tuner.tensile.results.errors import ResultsError, results_text

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without its C library
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

LARGEST_FILE = 1 << 30
"""Bytes; 8192 solutions have about 80 MiB."""
MOST_SOLUTIONS = 200_000
_CUT_OFF = "it ends within a solution: it was not written to its end"
_HEADER = re.compile(r"  (MinimumRequiredVersion|ProblemSizes|BiasTypeArgs|ActivationArgs|FactorDimArgs):")
_NESTING = ("[", "{", "- ", "? ")
_MOST_NESTED = 1000
"""Collections in one entry; at some ten thousand within each other, the library written in C crashes."""
_ITEM = re.compile(r"^-(?= )", re.MULTILINE)
_ENTRY = re.compile(r"^  (?=[^ \n#-])", re.MULTILINE)
_ANCHOR = re.compile(r"[\w.]+:\s+&(\w+)\s")
_ALIAS = re.compile(r"([\w.]+):\s+\*(\w+)\s*")

Solution = dict[str, object]


def solutions_of(file: Path) -> list[Solution]:
    """The parameters of every solution, in the order of the file.

    Raises:
        ResultsError: it cannot be read, is no list of solutions, or ends within one.
    """
    text = results_text(file, LARGEST_FILE)
    if not text.endswith("\n"):
        raise ResultsError(_CUT_OFF, file=file, line=text.count("\n") + 1)
    entries = _Entries(file)
    solutions: list[Solution] = []
    for line, item in _items(text, file):
        if solutions or not _HEADER.match(item):
            solutions.append(entries.mapping(item, line))
        if len(solutions) > MOST_SOLUTIONS:
            raise ResultsError(f"it has more than {MOST_SOLUTIONS} solutions", file=file)
    if not solutions:
        raise ResultsError("it names no solution", file=file)
    _not_cut_off(solutions, text, file)
    return solutions


def _items(text: str, file: Path) -> Iterator[tuple[int, str]]:
    """The items of the list in the text, with the line that each starts on."""
    starts = [match.start() for match in _ITEM.finditer(text)]
    before = text[: starts[0]] if starts else text
    if not starts or before.strip().removeprefix("---").strip():
        raise ResultsError("it is no list of solutions", file=file, line=1)
    line, at = 1, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line += text.count("\n", at, start)
        at = start
        yield line, " " + text[start + 1 : end]


@dataclass
class _Entries:
    """Parses entries, each different one once.

    Attributes:
        anchored: values by anchor; PyYAML writes `&id001` where two solutions share a list.
    """

    file: Path
    parsed: dict[str, Solution] = field(default_factory=dict)
    anchored: dict[str, object] = field(default_factory=dict)

    def mapping(self, item: str, line: int) -> Solution:
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
            value = yaml.load(entry, _Loader)
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
    """Keys are written in order: a last solution with only the first of them was not written to its end."""
    first, last = list(solutions[0]), list(solutions[-1])
    if len(last) < len(first) and last == first[: len(last)]:
        raise ResultsError(_CUT_OFF, file=file, line=text.count("\n"))
