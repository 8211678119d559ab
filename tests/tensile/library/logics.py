"""Small files of library logic, in the layout that Tensile writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

PROBLEM = {
    "OperationType": "GEMM", "DataType": 4, "DestDataType": 0, "ComputeDataType": 0, "TransposeA": 1, "TransposeB": 0,
    "Batched": True, "UseBeta": True, "TotalIndices": 4,
}  # fmt: skip
Row = tuple[tuple[int, ...], int, float]


def solution(depth: int, name: str = "", **more: Any) -> dict[str, Any]:
    """Parameters of a solution, in the order in which Tensile writes them."""
    values = {
        "DepthU": depth, "ISA": [9, 0, 10], "MacroTile0": 128, "MacroTile1": 64, "MatrixInstruction": [16, 16, 16, 1],
        "ProblemType": PROBLEM, "SolutionIndex": 0, "SolutionNameMin": name or f"Cijk_D{depth}", "StaggerU": 32,
        "StaggerUStride": 256, "WorkGroupMapping": 8, "_staggerStrideShift": 2,
    }  # fmt: skip
    return dict(sorted((values | more).items()))


def parts(solutions: list[dict[str, Any]], rows: list[Row], matching: str | None = None, **problem: Any) -> list[Any]:
    """The list that such a file is."""
    numbered = [one | {"SolutionIndex": number} for number, one in enumerate(solutions)]
    table = [[list(size), [index, speed]] for size, index, speed in rows]
    told = [{"MinimumRequiredVersion": "4.33.0"}, "aldebaran", "gfx90a", ["Device 0050", "Device 7400"]]
    told += [PROBLEM | problem, numbered, [2, 3, 0, 1], table, None, None, "DeviceEfficiency"]
    return told if matching is None else [*told, None, matching]


class _Unshared(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def write(file: Path, told: list[Any], *, shared: bool = False) -> Path:
    """The file; with `shared`, values that stand twice are written once, as PyYAML does by itself."""
    file.parent.mkdir(parents=True, exist_ok=True)
    dumper = yaml.SafeDumper if shared else _Unshared
    file.write_text(yaml.dump(told, Dumper=dumper, default_flow_style=None))
    return file


def plain(text: str) -> list[Any]:
    """What PyYAML reads in a file."""
    read: list[Any] = yaml.load(text, yaml.CSafeLoader)
    return read
