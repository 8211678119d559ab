"""The recorded GFLOP/s of a GEMM's configurations: a CSV of sizes, parameters and speeds."""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SIZE = ("M", "N", "K")
Key = tuple[str, ...]


def _canonical(value: object) -> object:
    """True is 1 and 2.0 is 2, as in Python's comparison of the two."""
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


@dataclass(frozen=True)
class Measured:
    """Speeds by size and by the values of some parameters."""

    names: list[str]
    speeds: dict[tuple[int, ...], dict[Key, float]]

    @classmethod
    def read(cls, file: Path) -> Measured:
        """Read a table with the columns M, N, K, those of parameters, and gflops.

        A speed of -1 is that of a kernel with wrong results; one that is empty, of a kernel that could not be built.
        """
        raw = file.read_bytes()
        text = gzip.decompress(raw).decode() if file.suffix == ".gz" else raw.decode()
        reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
        names = [column for column in reader.fieldnames or () if column not in (*_SIZE, "gflops")]
        speeds: dict[tuple[int, ...], dict[Key, float]] = {}
        for row in reader:
            if row["gflops"].strip():
                size = tuple(int(row[side]) for side in _SIZE)
                key = tuple(_text(row[name]) for name in names)
                speeds.setdefault(size, {})[key] = float(row["gflops"])
        return cls(names, speeds)

    def speed(self, size: list[int], values: dict[str, Any]) -> float | None:
        """GFLOP/s; None for what was not recorded."""
        return self.speeds.get(_gemm(size), {}).get(_key(self.names, values))

    def has_size(self, size: list[int]) -> bool:
        """Whether anything was recorded at this size."""
        return _gemm(size) in self.speeds

    def knows(self, values: dict[str, Any]) -> bool:
        """Whether these values were recorded at any size."""
        key = _key(self.names, values)
        return any(key in speeds for speeds in self.speeds.values())


def _gemm(size: list[int]) -> tuple[int, ...]:
    """M, N and K of a problem with or without a batch index."""
    return (size[0], size[1], size[3] if len(size) > 3 else size[2])


@functools.cache
def _text(json_text: str) -> str:
    return json.dumps(_canonical(json.loads(json_text)))


def _key(names: list[str], values: dict[str, Any]) -> Key:
    return tuple(json.dumps(_canonical(values.get(name))) for name in names)


def noisy(speed: float, noise: float, *what: object) -> float:
    """A measurement of a speed: the same for the same configuration, solution, size and repeat."""
    draw = random.Random(hashlib.sha256(repr(what).encode()).digest())  # noqa: S311
    return speed * max(0.05, 1 + noise * draw.gauss(0, 1))
