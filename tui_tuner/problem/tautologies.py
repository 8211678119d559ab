"""Restrictions without what restricts nothing: parts that always hold, and parts said twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from tui_tuner.problem.expressions import ExpressionError, conjuncts, parse, respelt
from tui_tuner.problem.model import Value

MOST_COMBINATIONS = 20_000
"""Combinations of the values that a part of a restriction names; with more of them it is kept unseen."""


def without_tautologies(
    restrictions: Sequence[str], tunables: Mapping[str, Sequence[Value]], sizes: Mapping[str, int]
) -> list[str]:
    """The parts of the restrictions that are joined by `and`, each once, without those that always hold.

    A part always holds if it does for every combination of the values of the tunables that it names, at these
    sizes. What cannot be read or names what is not known is kept as it is: it is refused elsewhere, with the reason.
    """
    kept: dict[str, str] = {}
    for restriction in restrictions:
        for part in _parts(restriction):
            if not _always_holds(part, tunables, sizes):
                kept.setdefault(_normal(part), part)
    return list(kept.values())


def _parts(restriction: str) -> tuple[str, ...]:
    try:
        return conjuncts(restriction)
    except ExpressionError:
        return (restriction,)


def _normal(part: str) -> str:
    try:
        return respelt(part)
    except ExpressionError:
        return part


def _always_holds(part: str, tunables: Mapping[str, Sequence[Value]], sizes: Mapping[str, int]) -> bool:
    try:
        condition = parse(part)
        if not condition.names <= {*tunables, *sizes}:
            return False
        named = [name for name in tunables if name in condition.names]
        if math.prod(len(tunables[name]) for name in named) > MOST_COMBINATIONS:
            return False
        combinations = product(*(tunables[name] for name in named))
        return all(condition.value({**sizes, **dict(zip(named, values, strict=True))}) for values in combinations)
    except ExpressionError:
        return False
