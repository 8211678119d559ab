"""The benchmark client: runs every solution at every problem, and writes the table."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass, field
from typing import Any

from tests.tensile.stand_in.faults import Faults
from tests.tensile.stand_in.measured import Measured, noisy
from tests.tensile.stand_in.options import Options
from tests.tensile.stand_in.speech import say

FAILED = -1.0
_LOG_HEADER = (
    "run,problem-progress,solution-progress,operation,problem-sizes,bias-type,factor-dim,activation-type,solution,"
    "validation,time-us,gflops"
)


@dataclass(frozen=True)
class Problem:
    """One row of the table, before it is measured."""

    size: list[int]
    bias: str = "None"
    activation: str = "None"


@dataclass
class Row:
    """One row of the table."""

    size: list[int]
    speeds: list[float | None]

    @property
    def flops(self) -> int:
        product = 2
        for side in self.size:
            product *= side
        return product


@dataclass
class Client:
    """The client for the solutions of one size group.

    Attributes:
        errors: solutions that failed, which become its exit status.
    """

    options: Options
    measured: Measured
    faults: Faults
    draw: random.Random
    configuration: str
    errors: int = 0
    rows: list[Row] = field(default_factory=list)

    def run(self, states: list[dict[str, Any]], raw: list[dict[str, Any]], problems: list[Problem], again: int) -> None:
        """Measure all problems, so many times again."""
        if not self.options.is_newer:
            say(_LOG_HEADER)
        for repeat, (at, problem) in itertools.product(range(again), enumerate(problems)):
            speeds = []
            for number, (state, values) in enumerate(zip(states, raw, strict=True)):
                speed = self._speed(state["SolutionNameMin"], values, problem, repeat)
                progress = f"{repeat},{at}/{len(problems) - 1},{number}/{len(states) - 1}"
                self._log(progress, problem, state["SolutionNameMin"], speed)
                speeds.append(speed)
                if number == len(states) // 2:
                    self.faults.while_kernels_run()
            self.rows.append(Row(problem.size, speeds))
            say("########################## ")

    def _speed(self, name: str, values: dict[str, Any], problem: Problem, repeat: int) -> float | None:
        time.sleep(self.options.pace)
        speed = self.measured.speed(problem.size, values)
        if speed is None:  # the kernel's assertions rule this size out
            return FAILED
        if speed == FAILED or self.faults.strikes(self.draw):
            self.errors += 1
            return FAILED
        what = (self.options.seed, self.configuration, name, problem.size, problem.bias, problem.activation, repeat)
        return noisy(speed, self.options.noise, *what)

    def _log(self, progress: str, problem: Problem, name: str, speed: float | None) -> None:
        sizes = ",".join(map(str, problem.size))
        passed = speed is not None and speed > 0
        flops = Row(problem.size, []).flops
        told = f"PASSED,{flops / speed / 1e3:g},{speed:g}" if passed and speed else "FAILED,0,0"
        if self.options.is_newer:
            say(f"{progress.partition(',')[2]},{name[:60]},{told}")
            return
        say(f'{progress},Contraction,"({sizes})",{problem.bias},,{problem.activation},{name},{told}')


_NEWER = (
    ("WinnerFreq",),
    ("WinnerGFlops", "WinnerTimeUS", "WinnerIdx", "WinnerName"),
    ("TotalFlops", "WinnerPower", "WinnerTemperature"),
)
"""Columns of Tensile since August 2023, those in the middle with CSVExportWinner only."""


def with_strides(size: list[int]) -> list[int]:
    """A size with its leading dimensions LDD, LDC, LDA, LDB, of the transposed A."""
    return [*size, size[0], size[0], size[-1], size[-1]]


def table(rows: list[Row], names: list[str], settings: dict[str, Any], *, newer: bool = False) -> str:
    """The table of the rows, one column a solution, cells separated by comma and blank."""
    winner = bool(settings.get("CSVExportWinner"))
    per_unit = settings.get("PerformanceMetric") == "CUEfficiency"
    count = len(rows[0].size) if rows else 4
    header = ["GFlopsPerCU" if per_unit else "GFlops", *(f"Size{chr(ord('I') + at)}" for at in range(count))]
    if newer:
        header += [
            "LDD",
            "LDC",
            "LDA",
            "LDB",
            *(name for part in _NEWER for name in (part if winner or len(part) != 4 else ())),
        ]
        lines = [header + names] + [_newer_cells(at, row, names, winner) for at, row in enumerate(rows)]
        return "".join(", ".join(cells) + "\n" for cells in lines)
    header += ["LDD", "LDC", "LDA", "LDB", "TotalFlops"]
    if winner:
        header += ["TilesPerCu", "TotalGranularity", "WinnerGFlops", "WinnerTimeUS", "WinnerIdx", "WinnerName"]
    lines = [header + names] + [_cells(at, row, names, winner) for at, row in enumerate(rows)]
    return "".join(", ".join(cells) + "\n" for cells in lines)


def _newer_cells(at: int, row: Row, names: list[str], winner: bool) -> list[str]:
    cells = [str(at), *map(str, with_strides(row.size)), "1700"]
    if winner:
        best = max((speed, -index) for index, speed in enumerate(row.speeds) if speed is not None)
        time_us = row.flops / best[0] / 1e3
        cells += [f"{best[0]:g}", f"{time_us:g}", str(-best[1]), names[-best[1]]] if best[0] > 0 else ["-1"] * 3 + [""]
    return [*cells, str(row.flops), "300", "55", *("" if speed is None else f"{speed:g}" for speed in row.speeds)]


def _cells(at: int, row: Row, names: list[str], winner: bool) -> list[str]:
    m, k = row.size[0], row.size[-1]
    cells = [str(at), *map(str, row.size), *map(str, (m, m, k, k)), str(row.flops)]
    if winner:
        best = max((speed, -index) for index, speed in enumerate(row.speeds) if speed is not None)
        speed, index = best[0], -best[1]
        told = ["1", "1", f"{speed:g}", f"{row.flops / speed / 1e3:g}", str(index), names[index]]
        cells += told if speed > 0 else ["-1", "-1", "-1", "-1", "-1", ""]
    return cells + ["" if speed is None else f"{speed:g}" for speed in row.speeds]


def merged(rows: list[Row], problems: int) -> list[Row]:
    """The best of the repeats of each problem, compared as whole numbers, as CSVMergeSameProblemID has it."""
    found = rows[:problems]
    for at, row in enumerate(rows[problems:]):
        kept = found[at % problems]
        both = zip(kept.speeds, row.speeds, strict=True)
        kept.speeds = [new if int(new or 0) > int(old or 0) else old for old, new in both]
    return found
