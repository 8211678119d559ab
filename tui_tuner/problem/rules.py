"""What a configuration must satisfy: restrictions, and the threads that the device takes in a block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from tui_tuner.problem.expressions import ExpressionError, Parsed


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
