"""What is measured where a model gives no configurations: random ones, or the real neighbours of the best."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.nearby import neighbours
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.value_order import exact_key


def random_batch(
    space: SearchSpace, measured: Sequence[Configuration], count: int, rng: random.Random
) -> list[Configuration]:
    """So many valid configurations that are not measured, as far as there are any."""
    return _new(space.sample(count + len(measured), rng), measured, count)


def pattern_batch(
    space: SearchSpace,
    evaluations: Sequence[Evaluation],
    taken: Sequence[Configuration],
    count: int,
    rng: random.Random,
) -> list[Configuration]:
    """The neighbours of the best that are not measured, then those of the second best and so on, then random ones.

    Pattern search after R. Hooke and T. A. Jeeves, "Direct search" solution of numerical and statistical problems,
    J. ACM 8(2), 1961: exploratory moves along one coordinate at a time, from the best point known.
    """
    timed = [e for e in evaluations if e.timing is not None and space.contains(e.configuration)]
    timed.sort(key=lambda e: e.timing.median if e.timing is not None else float("inf"))
    near = (neighbour for best in timed for neighbour in neighbours(space, best.configuration))
    batch = _new(near, taken, count)
    return [*batch, *random_batch(space, [*taken, *batch], count - len(batch), rng)]


def _new(proposed: Iterable[Configuration], measured: Sequence[Configuration], count: int) -> list[Configuration]:
    known = {exact_key(configuration) for configuration in measured}
    batch: list[Configuration] = []
    for configuration in proposed:
        if len(batch) >= count:
            break
        if exact_key(configuration) not in known:
            known.add(exact_key(configuration))
            batch.append(configuration)
    return batch
