"""What is wrong with the restrictions of a search space: why it is empty, and what restricts nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from tui_tuner.problem.expressions import ExpressionError, conjuncts, names_in, parse_expression, respelt
from tui_tuner.problem.model import Expression, Value
from tui_tuner.problem.space import SearchSpace

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
        for part in _stated(restriction):
            if not _always_holds(part, tunables, sizes):
                kept.setdefault(_normal(part), part)
    return list(kept.values())


def _stated(restriction: str) -> tuple[str, ...]:
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
        condition = parse_expression(part)
        if not condition.names <= {*tunables, *sizes}:
            return False
        named = [name for name in tunables if name in condition.names]
        if math.prod(len(tunables[name]) for name in named) > MOST_COMBINATIONS:
            return False
        names: dict[str, object] = dict(sizes)
        for values in product(*(tunables[name] for name in named)):
            names.update(zip(named, values, strict=True))
            if not condition.value(names):
                return False
    except ExpressionError:
        return False
    return True


MOST_VALUES = 12
"""Values of a tunable that are listed before some are left out."""
_BLOCK_SIZES = ("block_size_x", "block_size_y", "block_size_z")


@dataclass(frozen=True)
class _Condition:
    """What a configuration must satisfy: a part of a restriction, or the thread limit if it is none."""

    words: str
    names: frozenset[str]
    restriction: str | None = None


def why_empty(
    tunables: Mapping[str, Sequence[Value]],
    restrictions: Sequence[str] = (),
    *,
    sizes: Mapping[str, int] | None = None,
    max_threads: int | None = None,
    block_size: Sequence[Expression] | None = None,
) -> str:
    """Why no configuration of an empty space is valid, in words for a model or a user.

    It is a restriction or the thread limit that nothing satisfies by itself, else a minimal set that contradicts
    itself: without any one of them some configuration would be valid. Most of the searches stop at the first
    valid configuration; no more of them than the set has members walk through all combinations.

    Args:
        tunables: this and the others as of `SearchSpace`.

    Raises:
        ExpressionError: a restriction is not allowed or names what is not known.
        ValueError: some configuration is valid.
    """
    for name, values in tunables.items():
        if not values:
            return f"'{name}' has no values"
    conditions = [*_parts(restrictions), *_thread_limit(tunables, max_threads, block_size)]

    @cache
    def is_empty(kept: frozenset[_Condition]) -> bool:
        texts = [condition.restriction for condition in kept if condition.restriction is not None]
        limit = max_threads if len(texts) < len(kept) else None
        return SearchSpace(tunables, texts, sizes=sizes, max_threads=limit, block_size=block_size).is_empty

    simplest_first = sorted(conditions, key=lambda condition: (condition.restriction is None, len(condition.names)))
    culprits = _minimal(simplest_first, is_empty)
    return _in_words([c for c in conditions if c in culprits], tunables, sizes or {})


def _parts(restrictions: Sequence[str]) -> Iterator[_Condition]:
    for part in dict.fromkeys(part for restriction in restrictions for part in conjuncts(restriction)):
        yield _Condition(f"'{part}'", names_in(part), part)


def _thread_limit(
    tunables: Mapping[str, Sequence[Value]], max_threads: int | None, block_size: Sequence[Expression] | None
) -> Iterator[_Condition]:
    block = block_size or [name for name in _BLOCK_SIZES if name in tunables]
    if max_threads is not None and block:
        names = frozenset().union(*(names_in(extent) for extent in block))
        yield _Condition(f"the limit of {max_threads} threads in a block of ({', '.join(map(str, block))})", names)


def _minimal(conditions: Sequence[_Condition], is_empty: Callable[[frozenset[_Condition]], bool]) -> list[_Condition]:
    """A set that leaves nothing while each part of it leaves something.

    Conditions are added until nothing is left: the last of them belongs to the set, and those after it are not
    needed. The same again with it in the set, until the set suffices by itself.
    """
    for condition in conditions:
        if is_empty(frozenset([condition])):
            return [condition]
    core: list[_Condition] = []
    while not is_empty(frozenset(core)):
        last = _first_that_empties(core, conditions, is_empty)
        core.append(conditions[last])
        conditions = conditions[:last]
    return core


def _first_that_empties(
    core: Sequence[_Condition], added: Sequence[_Condition], is_empty: Callable[[frozenset[_Condition]], bool]
) -> int:
    for position in range(len(added)):
        if is_empty(frozenset([*core, *added[: position + 1]])):
            return position
    raise ValueError("the space is not empty: some configuration is valid")


def _in_words(culprits: Sequence[_Condition], tunables: Mapping[str, Sequence[Value]], sizes: Mapping[str, int]) -> str:
    named = frozenset().union(*(culprit.names for culprit in culprits))
    values = " and ".join(f"{name} = {_listed(tunables[name])}" for name in tunables if name in named)
    given = " and ".join(f"{name} = {sizes[name]}" for name in sizes if name in named)
    words = [culprit.words for culprit in culprits]
    if len(words) > 1:
        of = f"of {values}" + (f" with {given}" if given else "")
        return f"{', '.join(words[:-1])} and {words[-1]} contradict each other: no combination {of} satisfies them all"
    if not values:
        return f"{words[0]} does not hold" + (f" with {given}" if given else "")
    return f"{words[0]} holds for none of {values}" + (f" with {given}" if given else "")


def _listed(values: Sequence[Value]) -> str:
    shown = [repr(value) for value in values]
    if len(shown) > MOST_VALUES:
        shown = [*shown[: MOST_VALUES - 2], "...", shown[-1]]
    return ", ".join(shown)
