"""Tunables that rules connect: their valid assignments enumerated, counted and drawn at random."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import Protocol

from tui_tuner.problem.expressions import ExpressionError, Parsed
from tui_tuner.problem.languages import Value

Assignment = tuple[Value, ...]
"""One value for each tunable of a component, in the order of its names."""

MOST_STEPS = 300_000
"""Values tried while counting; more of them take longer than a second or two."""
_ATTEMPTS = 300
_STEPS = 5_000


class Component(Protocol):
    """Tunables whose values restrict each other and no others'."""

    @property
    def names(self) -> Sequence[str]:
        """The tunables of the component in the order in which they are bound."""
        ...

    @property
    def count(self) -> int | None:
        """The number of valid assignments; None where counting them takes too long."""
        ...

    def assignments(self) -> Iterator[Assignment]:
        """Every valid one, in the same order each time."""
        ...

    def draw(self, rng: random.Random) -> Assignment | None:
        """A random one; None where there is none, or none is found in bounded time."""
        ...


class ListedComponent:
    """Assignments that are known by listing them."""

    def __init__(self, names: Sequence[str], listed: Sequence[Assignment]) -> None:
        self.names = names
        self.count = len(listed)
        self._listed = listed

    def assignments(self) -> Iterator[Assignment]:
        """The assignments of the component, in their order."""
        return iter(self._listed)

    def draw(self, rng: random.Random) -> Assignment | None:
        """An assignment at random."""
        return rng.choice(self._listed) if self._listed else None


class RuledComponent:
    """Assignments that rules allow, each rule applied as soon as all its names are bound.

    What may follow a partial assignment depends only on those bound values that rules still to be applied read.
    Counted once for each combination of these, the assignments of a large space are counted without walking them,
    and a walk that prefers each value by the count behind it draws uniformly (as in model counting with decision
    diagrams: A. Darwiche, P. Marquis, A Knowledge Compilation Map, JAIR 17, 2002).

    Args:
        names: the tunables in the order in which they are best bound.
        values: the values of each tunable.
        rules: those that read no other tunables.
        sizes: values of the names that are no tunables.
    """

    def __init__(
        self,
        names: Sequence[str],
        values: Mapping[str, Assignment],
        rules: Sequence[SpaceRule],
        sizes: Mapping[str, int],
    ) -> None:
        self.names = names
        self._values = [values[name] for name in names]
        self._sizes = sizes
        self._due = by_depth(rules, names)
        self._read_later = [
            [
                name
                for name in names[:depth]
                if any(name in rule.names and rule.names - {*names[:depth]} for rule in rules)
            ]
            for depth in range(len(names) + 1)
        ]
        self._free = not rules
        self._weights: dict[Hashable, list[int]] = {}
        self._steps = 0

    def assignments(self) -> Iterator[Assignment]:
        """Backtracking over the tunables in their order."""
        names: dict[str, object] = dict(self._sizes)

        def extend(depth: int, bound: Assignment) -> Iterator[Assignment]:
            if not self._holds(depth, names):
                return
            if depth == len(self.names):
                yield bound
                return
            for value in self._values[depth]:
                names[self.names[depth]] = value
                yield from extend(depth + 1, (*bound, value))

        return extend(0, ())

    @cached_property
    def count(self) -> int | None:
        """The number of valid assignments; None where counting them takes too long."""
        try:
            return math.prod(map(len, self._values)) if self._free else self._count(0, dict(self._sizes))
        except _TooManyStepsError:
            return None

    def draw(self, rng: random.Random) -> Assignment | None:
        """A random one, uniformly where they can be counted.

        Elsewhere one that random values happen to make, which is uniform too; where the rules are too tight
        for that the first that a walk in random order meets, which is not.
        """
        if self.count is not None:
            return self._drawn_by_count(rng) if self.count else None
        for _ in range(_ATTEMPTS):
            if (drawn := self._drawn(rng, steps=len(self.names))) is not None:
                return drawn
        return self._drawn(rng, steps=_STEPS)

    def _holds(self, depth: int, names: Mapping[str, object]) -> bool:
        return all(verdicts.hold(names) for verdicts in self._due[depth])

    def _count(self, depth: int, names: dict[str, Value]) -> int:
        """How many valid assignments begin with the values bound so far."""
        if not self._holds(depth, names):
            return 0
        if depth == len(self.names):
            return 1
        state = self._state(depth, names)
        if state not in self._weights:
            self._weights[state] = self._counts_behind(depth, names)
        return self._weights[state][-1]

    def _counts_behind(self, depth: int, names: dict[str, Value]) -> list[int]:
        """How many begin with these and each of the next tunable's values up to one: running totals."""
        self._steps += len(self._values[depth])
        if self._steps > MOST_STEPS:
            raise _TooManyStepsError
        counts = []
        for value in self._values[depth]:
            names[self.names[depth]] = value
            counts.append(self._count(depth + 1, names))
        return list(accumulate(counts))

    def _state(self, depth: int, names: Mapping[str, Value]) -> Hashable:
        """What decides which assignments of the tunables left are valid."""
        return (depth, *(names[name] for name in self._read_later[depth]))

    def _drawn_by_count(self, rng: random.Random) -> Assignment:
        names: dict[str, Value] = dict(self._sizes)
        bound: list[Value] = []
        for depth, name in enumerate(self.names):
            weights = None if self._free else self._weights[self._state(depth, names)]
            names[name] = rng.choices(self._values[depth], cum_weights=weights)[0]
            bound.append(names[name])
        return tuple(bound)

    def _drawn(self, rng: random.Random, steps: int) -> Assignment | None:
        """Random values one after the other, going back where a rule is broken, for so many steps at most."""
        names: dict[str, object] = dict(self._sizes)
        bound: list[Value] = []
        untried = [rng.sample(self._values[0], len(self._values[0]))]
        while untried and steps:
            if not untried[-1]:
                untried.pop()
                del bound[-1:]
                continue
            steps -= 1
            depth = len(untried)
            value = names[self.names[depth - 1]] = untried[-1].pop()
            if not self._holds(depth, names):
                continue
            if depth == len(self.names):
                return (*bound, value)
            bound.append(value)
            untried.append(rng.sample(self._values[depth], len(self._values[depth])))
        return None


class _TooManyStepsError(Exception):
    """Counting would take too long."""


@dataclass(frozen=True)
class Restriction:
    """A condition on the tunables it names."""

    text: str
    names: frozenset[str]
    condition: Parsed

    def broken(self, names: Mapping[str, object]) -> str | None:
        """Why the condition does not hold, in words."""
        try:
            return None if self.condition.value(names) else f"breaks the restriction '{self.text}'"
        except ExpressionError as error:
            return f"a restriction has no value: {error}"


@dataclass(frozen=True)
class ThreadLimit:
    """A block holds no more threads than the device takes."""

    names: frozenset[str]
    block: tuple[Parsed, ...]
    limit: int

    def broken(self, names: Mapping[str, object]) -> str | None:
        """Why the block is too large or has no size, in words."""
        try:
            threads = math.prod(float(extent.value(names)) for extent in self.block)
        except (ExpressionError, ValueError) as error:
            return f"the block size has no value: {error}"
        return f"{threads:.0f} threads in a block: the device takes {self.limit}" if threads > self.limit else None


SpaceRule = Restriction | ThreadLimit


class Verdicts:
    """Whether a rule holds, remembered by the values of its names: enumerating asks the same again and again."""

    def __init__(self, rule: SpaceRule) -> None:
        self._rule = rule
        self._key = itemgetter(*sorted(rule.names)) if rule.names else lambda _names: ()
        self._known: dict[object, bool] = {}

    def hold(self, names: Mapping[str, object]) -> bool:
        """Whether the rule holds for these values of all its names."""
        key = self._key(names)
        holds = self._known.get(key)
        if holds is None:
            holds = self._known[key] = self._rule.broken(names) is None
        return holds


def by_depth(rules: Sequence[SpaceRule], order: Sequence[str]) -> list[list[Verdicts]]:
    """For each number of tunables bound in this order, the rules that can be applied then and not before."""
    bound = {name: depth for depth, name in enumerate(order, start=1)}
    due: list[list[Verdicts]] = [[] for _ in range(len(order) + 1)]
    for rule in rules:
        due[max((bound[name] for name in rule.names), default=0)].append(Verdicts(rule))
    return due
