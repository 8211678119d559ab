"""The GFLOP/s of a GEMM's configurations: a CSV of sizes, parameters and speeds."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SIZE = ("M", "N", "K")


@dataclass(frozen=True)
class Measured:
    """Speeds by size and by the values of some parameters, as JSON."""

    names: list[str]
    speeds: dict[tuple[int, ...], dict[tuple[str, ...], float]]

    @classmethod
    def read(cls, file: Path) -> Measured:
        """Read a table with the columns M, N, K, those of parameters, and gflops: -1 where the results are wrong."""
        reader = csv.DictReader(file.read_text().splitlines())
        names = [column for column in reader.fieldnames or () if column not in (*_SIZE, "gflops")]
        speeds: dict[tuple[int, ...], dict[tuple[str, ...], float]] = {}
        for row in reader:
            size = tuple(int(row[side]) for side in _SIZE)
            speeds.setdefault(size, {})[tuple(row[name] for name in names)] = float(row["gflops"])
        return cls(names, speeds)

    def speed(self, size: list[int], values: dict[str, Any]) -> float | None:
        """GFLOP/s; None for what was not recorded."""
        return self.speeds.get(_gemm(size), {}).get(self._key(values))

    def has_size(self, size: list[int]) -> bool:
        """Whether anything was recorded at this size."""
        return _gemm(size) in self.speeds

    def knows(self, values: dict[str, Any]) -> bool:
        """Whether these values were recorded at any size."""
        return any(self._key(values) in speeds for speeds in self.speeds.values())

    def _key(self, values: dict[str, Any]) -> tuple[str, ...]:
        return tuple(json.dumps(values.get(name)) for name in self.names)


def _gemm(size: list[int]) -> tuple[int, ...]:
    """M, N and K of a batched problem."""
    return (size[0], size[1], size[3])
