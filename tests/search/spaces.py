"""Synthetic search spaces with a known optimum."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_tuner.problem.model import Configuration, Value


@dataclass(frozen=True)
class SyntheticSpace:
    """406 valid configurations; the fastest is 128 x 4, unrolled 4 times, through shared memory, by rows."""

    tunables: dict[str, list[Value]] = field(
        default_factory=lambda: {
            "block_size_x": [256, 16, 32, 64, 128, 512, 1024],
            "block_size_y": [1, 2, 4, 8],
            "unroll": [1, 2, 4, 8],
            "use_shared": [False, True],
            "layout": ["rows", "columns"],
            "version": [3],
        }
    )

    def configurations(self) -> Iterator[Configuration]:
        for values in itertools.product(*self.tunables.values()):
            configuration = dict(zip(self.tunables, values, strict=True))
            if is_valid(configuration):
                yield configuration


START: Configuration = {
    "block_size_x": 256,
    "block_size_y": 1,
    "unroll": 1,
    "use_shared": False,
    "layout": "rows",
    "version": 3,
}


def is_valid(configuration: Configuration) -> bool:
    return int(configuration["block_size_x"]) * int(configuration["block_size_y"]) <= 1024


def milliseconds(configuration: Configuration) -> float:
    """1.0 at the optimum, more elsewhere."""
    time = 1.0
    for name, best in (("block_size_x", 128), ("block_size_y", 4), ("unroll", 4)):
        time += 0.2 * abs(math.log2(float(configuration[name]) / best))
    time += 0.0 if configuration["use_shared"] is True else 0.7
    return time + (0.0 if configuration["layout"] == "rows" else 0.4)
