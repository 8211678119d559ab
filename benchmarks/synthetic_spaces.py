"""Searches on made-up spaces that no recording could hold, each with a known optimum.

    python benchmarks/synthetic_spaces.py --repeats 6 --strategies surrogate,hybrid_vndx,random_sample

Each repeat has an optimum of its own, drawn from the valid configurations, so what a search expects of GPUs (powers of
two, usual blocks) is as often wrong as right. The time of a configuration is 1 ms times the exponential of its distance
from the optimum: steps of single tunables, and of the threads of a block and the elements of a tile, which no tunable
holds alone. Told is 1 ms over the true time of what the search holds for the best after 25, 55 and 85 evaluations: the
mean over the repeats and its standard error; and the longest time that a choice took, on the clock of the wall.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean, stdev

from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.client import SearchClient

MARKS = (25, 55, 85)
POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
BLOCK: dict[str, list[Value]] = {"block_size_x": [*range(16, 272, 16)], "block_size_y": [1, 2, 4, 8, 16]}
TILE: dict[str, list[Value]] = {"tile_size_x": [*range(1, 9)], "tile_size_y": [*range(1, 9)]}
SWITCHES: dict[str, list[Value]] = {"use_shared": [0, 1], "read_only": [0, 1], "layout": ["rows", "columns", "blocked"]}
WARP_LIMIT = "block_size_x * block_size_y <= 1024"
WEIGHT = 0.12
"""Of one step of a tunable, in natural logarithms of the time."""

Time = Callable[[Configuration], float | None]


@dataclass(frozen=True)
class Made:
    """A space, and how much of it fails and is noise.

    Attributes:
        conditional: tunables that matter only where `use_shared` is on.
        most: elements of a tile times threads of a block, above which a launch fails; None for no limit.
        noise: standard deviation of the logarithm of a measured time.
    """

    space: SearchSpace
    conditional: tuple[str, ...] = ()
    most: int | None = None
    noise: float = 0.0

    def works(self, configuration: Configuration) -> bool:
        """Whether it can be launched."""
        return self.most is None or _elements(configuration) <= self.most

    def optimum(self, dice: random.Random) -> Configuration:
        """A random one that works."""
        while not self.works(drawn := self.space.sample(1, dice)[0]):
            pass
        return drawn

    def time(self, optimum: Configuration) -> Time:
        """The true time in ms, None for a failure."""
        places = {name: {value: place for place, value in enumerate(v)} for name, v in self.space.tunables.items()}

        def measured(one: Configuration) -> float | None:
            if not self.works(one):
                return None
            away = 0.0
            for name, place in places.items():
                if name not in self.conditional or one["use_shared"] or optimum["use_shared"] != one["use_shared"]:
                    steps = abs(place[one[name]] - place[optimum[name]])
                    away += steps > 0 if isinstance(one[name], str) else 3 * steps / math.sqrt(len(place))
            away += 2 * abs(math.log2(_threads(one) / _threads(optimum)))
            return math.exp(WEIGHT * (away + abs(math.log2(_elements(one) / _elements(optimum)))))

        return measured


def _threads(one: Configuration) -> int:
    return int(one["block_size_x"]) * int(one["block_size_y"])


def _elements(one: Configuration) -> int:
    return _threads(one) * int(one["tile_size_x"]) * int(one["tile_size_y"])


def made() -> dict[str, Made]:
    """The spaces by their names."""
    vectors: dict[str, list[Value]] = {"vector": [1, 2, 4, 8], "unroll": [1, 2, 3, 4, 6, 8], "stages": [1, 2, 3, 4, 5]}
    basis = {**BLOCK, **TILE, **SWITCHES}
    large = {**basis, **vectors, "swizzle": [1, 2, 4, 8], "order": ["mn", "nm", "z", "hilbert"]}
    padded: dict[str, list[Value]] = {"padding": [0, 1, 2, 4], "stages": [1, 2, 3, 4]}
    off = ["use_shared == 1 or padding == 0", "use_shared == 1 or stages == 1"]
    return {
        "large": Made(SearchSpace(large, [WARP_LIMIT])),
        "conditional": Made(SearchSpace({**basis, **padded}, [WARP_LIMIT, *off]), ("padding", "stages")),
        "failing": Made(SearchSpace({**basis, "unroll": POWERS[:5]}, [WARP_LIMIT]), most=2_500),
        "noisy": Made(SearchSpace(basis, [WARP_LIMIT]), noise=0.05),
    }


@dataclass(frozen=True)
class Searched:
    """What a search came to: the fraction of the optimum at each mark, and the longest wait for a choice, s."""

    fractions: list[float]
    longest: float
    failed: float


async def searched(one: Made, strategy: str, seed: int) -> Searched:
    """One search, with an optimum and noise of its own."""
    dice = random.Random(seed)  # noqa: S311 - the same again
    time_of = one.time(one.optimum(dice))
    start = one.space.enumerate_valid(1)[0]
    seen: list[tuple[float, float]] = []
    fractions: list[float] = []
    longest, failed, count = 0.0, 0, 0
    async with SearchClient(one.space, max_evaluations=MARKS[-1], method=strategy, seed=seed, start=start) as search:
        while True:
            began = time.perf_counter()
            batch = await anext(search, None)
            if count:
                longest = max(longest, time.perf_counter() - began)
            if batch is None:
                break
            told = []
            for configuration in batch:
                true = time_of(configuration)
                told.append(None if true is None else true * math.exp(dice.gauss(0, one.noise)))
                seen += [] if true is None else [(told[-1] or 0.0, true)]
                failed, count = failed + (true is None), count + 1
                if count in MARKS:
                    fractions.append(1 / min(seen)[1] if seen else 0.0)
            await search.tell(told)
    fractions += fractions[-1:] * (len(MARKS) - len(fractions))
    return Searched(fractions, longest, failed / count)


def cell(values: list[float]) -> str:
    """Mean and standard error."""
    return f"{mean(values):.3f} ±{stdev(values) / math.sqrt(len(values)):.3f}"


def main() -> None:
    """Print a table for each space."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strategies", default="surrogate,random_sample")
    parser.add_argument("--spaces", default=",".join(made()))
    options = parser.parse_args()
    for name in options.spaces.split(","):
        one = made()[name]
        print(f"{name}: {one.space.size:,} configurations")
        for strategy in options.strategies.split(","):
            seeds = range(options.seed, options.seed + max(2, options.repeats))
            runs = [asyncio.run(searched(one, strategy, seed)) for seed in seeds]
            cells = "  ".join(cell([run.fractions[mark] for run in runs]) for mark in range(len(MARKS)))
            longest, failed = max(run.longest for run in runs), mean(run.failed for run in runs)
            print(f"  {strategy:<22}  {cells}  longest choice {longest:.2f} s, {failed:.0%} failed", flush=True)


if __name__ == "__main__":
    main()
