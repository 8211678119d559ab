"""Which column of a table is which solution of its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tui_tuner.tensile.results.columns import Columns
from tui_tuner.tensile.results.errors import ResultsError
from tui_tuner.tensile.results.solutions import Solution

_NAME = "SolutionNameMin"


def matched(columns: Columns, solutions: list[Solution], file: Path) -> tuple[Columns, dict[str, Solution]]:
    """The columns with those of the solutions told from others, and the solution of each, by the column's name.

    By name where the names agree. Else by place: Tensile shortens a name to what tells solutions apart, and may do
    so differently in the two files; but both are in the order of the solutions' numbers.

    Raises:
        ResultsError: table and file are not of the same solutions.
    """
    candidates = [columns.names[at] for at in columns.solutions]
    named = {name: solution for solution in reversed(solutions) if isinstance(name := solution.get(_NAME), str)}
    found = {name: named[name] for name in candidates if name in named}
    if found and (len(found) == len(candidates) or len(found) == len(named)):
        return _split(columns, found), found
    if len(candidates) == len(solutions):
        return columns, dict(zip(candidates, solutions, strict=True))
    message = f"it has columns for {len(candidates)} solutions, but its .yaml has {len(solutions)}"
    raise ResultsError(message, hint="The two are not of one run, or one of them was cut off.", file=file, line=1)


def _split(columns: Columns, found: dict[str, Solution]) -> Columns:
    """Columns behind Tensile's own that are no solution's describe the problem."""
    others = [at for at in columns.solutions if columns.names[at] not in found]
    mine = [at for at in columns.solutions if columns.names[at] in found]
    return replace(columns, fields=[*columns.fields, *others], solutions=mine)
