"""The benchmark client: runs every solution at every problem size, and writes the table."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from tests.tensile.stand_in.measured import Measured
from tests.tensile.stand_in.options import Options
from tests.tensile.stand_in.speech import say

FAILED = -1.0
_LOG_HEADER = (
    "run,problem-progress,solution-progress,operation,problem-sizes,bias-type,factor-dim,activation-type,solution,"
    "validation,time-us,gflops"
)


@dataclass
class Row:
    """One row of the table: GFLOP/s of every solution, -1 where it fails."""

    size: list[int]
    speeds: list[float]

    @property
    def flops(self) -> int:
        return 2 * math.prod(self.size)

    @property
    def best(self) -> int:
        """The first of the fastest solutions."""
        return self.speeds.index(max(self.speeds))


def run_all(
    options: Options, measured: Measured, solutions: dict[str, dict[str, Any]], sizes: list[list[int]]
) -> list[Row]:
    """Measure every solution, by name and values, at all sizes."""
    if not options.is_newer:
        say(_LOG_HEADER)
    rows = []
    for at, size in enumerate(sizes):
        row = Row(size, [])
        for number, (name, values) in enumerate(solutions.items()):
            time.sleep(options.pace)
            speed = measured.speed(size, values)
            row.speeds.append(FAILED if speed is None or options.faults.strikes(number) else speed)
            _log(options, f"{at}/{len(sizes) - 1},{number}/{len(solutions) - 1}", row, name)
            if number == len(solutions) // 2:
                options.faults.while_kernels_run()
        rows.append(row)
        say("########################## ")
    return rows


def _log(options: Options, progress: str, row: Row, name: str) -> None:
    speed = row.speeds[-1]
    told = f"PASSED,{row.flops / speed / 1e3:g},{speed:g}" if speed > 0 else "FAILED,0,0"
    if options.is_newer:
        say(f"{progress},{name[:60]},{told}")
    else:
        say(f'0,{progress},Contraction,"({",".join(map(str, row.size))})",None,,None,{name},{told}')


def with_strides(size: list[int]) -> list[int]:
    """A size with its leading dimensions LDD, LDC, LDA, LDB, of the transposed A."""
    return [*size, size[0], size[0], size[-1], size[-1]]


_SIZES = ["GFlops", "SizeI", "SizeJ", "SizeK", "SizeL", "LDD", "LDC", "LDA", "LDB"]
_WINNER = ["WinnerGFlops", "WinnerTimeUS", "WinnerIdx", "WinnerName"]


def table(rows: list[Row], names: list[str], *, winner: bool, newer: bool) -> str:
    """The table of the rows, one column a solution, cells separated by comma and blank.

    Args:
        winner: whether the winner of each row has columns of its own, as CSVExportWinner has it.
        newer: whether the columns are those of Tensile since August 2023.
    """
    told = _WINNER if winner else []
    if newer:
        header = [*_SIZES, "WinnerFreq", *told, "TotalFlops", "WinnerPower", "WinnerTemperature"]
    else:
        header = [*_SIZES, "TotalFlops", *(["TilesPerCu", "TotalGranularity", *told] if winner else [])]
    lines = [header + names]
    for at, row in enumerate(rows):
        best = _winner(row, names) if winner else []
        start = [str(at), *map(str, with_strides(row.size))]
        if newer:
            start += ["1700", *best, str(row.flops), "300", "55"]
        else:
            start += [str(row.flops), *(["1", "1", *best] if winner else [])]
        lines.append(start + [f"{speed:g}" for speed in row.speeds])
    return "".join(", ".join(cells) + "\n" for cells in lines)


def _winner(row: Row, names: list[str]) -> list[str]:
    speed = row.speeds[row.best]
    if speed <= 0:
        return ["-1", "-1", "-1", ""]
    return [f"{speed:g}", f"{row.flops / speed / 1e3:g}", str(row.best), names[row.best]]
