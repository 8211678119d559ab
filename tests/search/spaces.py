"""A synthetic search space with a known optimum, and a search of it or of another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search import DEFAULT_METHOD
from tui_tuner.search.client import SearchClient
from tui_tuner.search.connection import SearchProcess

Time = Callable[[Configuration], float | None]


def is_valid(configuration: Configuration) -> bool:
    return int(configuration["block_size_x"]) * int(configuration["block_size_y"]) <= 1024


_TUNABLES = {
    "block_size_x": [256, 16, 32, 64, 128, 512, 1024],
    "block_size_y": [1, 2, 4, 8],
    "unroll": [1, 2, 4, 8],
    "use_shared": [False, True],
    "layout": ["rows", "columns"],
    "version": [3],
}
_COMBINATIONS = [dict(zip(_TUNABLES, values, strict=True)) for values in itertools.product(*_TUNABLES.values())]
SYNTHETIC = SearchSpace(_TUNABLES, members=list(filter(is_valid, _COMBINATIONS)))
"""406 valid configurations; the fastest is 128 x 4, unrolled 4 times, through shared memory, by rows."""
START: Configuration = {
    "block_size_x": 256,
    "block_size_y": 1,
    "unroll": 1,
    "use_shared": False,
    "layout": "rows",
    "version": 3,
}


def milliseconds(configuration: Configuration) -> float:
    """1.0 at the optimum, more elsewhere."""
    time = 1.0
    for name, best in (("block_size_x", 128), ("block_size_y", 4), ("unroll", 4)):
        time += 0.2 * abs(math.log2(float(configuration[name]) / best))
    time += 0.0 if configuration["use_shared"] is True else 0.7
    return time + (0.0 if configuration["layout"] == "rows" else 0.4)


def client(process: SearchProcess, budget: int, space: SearchSpace = SYNTHETIC, **options) -> SearchClient:
    """A search that runs in a process which has others too."""
    search = SearchClient(space, max_evaluations=budget, **options)
    search.process = process
    return search


async def batches(
    process: SearchProcess,
    budget: int,
    measure: Time = milliseconds,
    space: SearchSpace = SYNTHETIC,
    *,
    method: str = DEFAULT_METHOD,
    **options,
) -> list[list[Configuration]]:
    """What a whole search asks for."""
    asked = []
    async with client(process, budget, space, method=method, **options) as search:
        async for batch in search:
            asked.append(batch)
            await search.tell([measure(configuration) for configuration in batch])
    return asked


async def searched(*arguments, **options) -> list[Configuration]:
    """The same as `batches`, one after another."""
    return list(itertools.chain.from_iterable(await batches(*arguments, **options)))


def distinct(configurations: list[Configuration]) -> int:
    return len({tuple(configuration.values()) for configuration in configurations})
