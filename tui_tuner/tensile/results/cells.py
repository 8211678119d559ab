"""One cell of a table: a speed, a count, or the reason why it is neither."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tui_tuner.tensile.results.errors import ResultsError, shown

FAILED = -1.0
"""What Tensile writes in the place of a speed for a solution with wrong results, or one that it refused to run."""


@dataclass(frozen=True)
class Line:
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
