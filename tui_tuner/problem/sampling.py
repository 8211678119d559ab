"""Random configurations of a search space of any size."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tui_tuner.problem.model import Configuration
from tui_tuner.problem.value_order import exact_key

if TYPE_CHECKING:
    from tui_tuner.problem.space import SearchSpace

WALKED = 2
"""A space with so many times the configurations wanted is walked rather than drawn from."""
_FRUITLESS = 200
"""Draws in a row that bring nothing new, after which there is taken to be no more."""


def sample(space: SearchSpace, count: int, rng: random.Random) -> list[Configuration]:
    """Different valid configurations at random, fewer where there are not so many or no more are found."""
    if space.size_up_to(WALKED * count + 1) <= WALKED * count:
        everything = list(space.configurations())
        return rng.sample(everything, min(count, len(everything)))
    drawn: dict[object, Configuration] = {}
    fruitless = 0
    while len(drawn) < count and fruitless < _FRUITLESS:
        configuration = _draw(space, rng)
        if configuration is None:
            break
        fruitless += 1
        if (key := exact_key(configuration)) not in drawn:
            drawn[key] = configuration
            fruitless = 0
    return list(drawn.values())


def _draw(space: SearchSpace, rng: random.Random) -> Configuration | None:
    choice = []
    for component in space.components:
        assignment = component.draw(rng)
        if assignment is None:
            return None
        choice.append(assignment)
    return space.joined(choice)
