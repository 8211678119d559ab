"""The search space of a kernel: which configurations of its tunables are valid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from operator import itemgetter

from tui_tuner.problem.expressions import ExpressionError, Parsed, check, conjuncts, parse
from tui_tuner.problem.model import Configuration, Launch, Value
from tui_tuner.problem.nearest import suggestion

_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class _Rule:
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
class _ThreadLimit:
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


class _Verdicts:
    """Whether a rule holds, remembered by the values of its names: enumerating asks the same again and again."""

    def __init__(self, rule: _Rule | _ThreadLimit) -> None:
        self._rule = rule
        self._key = itemgetter(*sorted(rule.names)) if rule.names else lambda _names: ()
        self._known: dict[object, bool] = {}

    def hold(self, names: Mapping[str, object]) -> bool:
        key = self._key(names)
        holds = self._known.get(key)
        if holds is None:
            holds = self._known[key] = self._rule.broken(names) is None
        return holds


class SearchSpace:
    """The valid configurations of a set of tunables.

    Tunables that no restriction connects are enumerated apart from each other, and each restriction is applied
    as soon as all its names are bound, so that the product of all values is never walked.

    Args:
        tunables: the values of each tunable.
        restrictions: expressions over tunables and sizes, all of which must hold.
        sizes: values of the names that are no tunables.
        max_threads: of a block on the device; None for no limit.
        launch: says what the block size is, where it is not the tunables `block_size_x`, `_y`, `_z`.

    Raises:
        ExpressionError: a restriction is not allowed or names what is not known.
    """

    def __init__(
        self,
        tunables: Mapping[str, Sequence[Value]],
        restrictions: Sequence[str] = (),
        *,
        sizes: Mapping[str, int] | None = None,
        max_threads: int | None = None,
        launch: Launch | None = None,
    ) -> None:
        self.tunables = {name: tuple(dict.fromkeys(values)) for name, values in tunables.items()}
        self._sizes = dict(sizes or {})
        self._rules: list[_Rule | _ThreadLimit] = [*self._restrictions(restrictions)]
        if max_threads is not None:
            self._rules.append(self._thread_limit(launch or Launch(), max_threads))

    def _restrictions(self, restrictions: Sequence[str]) -> Iterator[_Rule]:
        for restriction in restrictions:
            check(restriction, [*self.tunables, *self._sizes])
            for part in conjuncts(restriction):
                condition = parse(part)
                yield _Rule(part, condition.names & self.tunables.keys(), condition)

    def _thread_limit(self, launch: Launch, limit: int) -> _ThreadLimit:
        given = [f"block_size_{axis}" for axis in _AXES if f"block_size_{axis}" in self.tunables]
        block = tuple(parse(str(extent)) for extent in launch.block_size or given)
        names = frozenset().union(*(extent.names for extent in block))
        return _ThreadLimit(names & self.tunables.keys(), block, limit)

    @cached_property
    def size(self) -> int:
        """The number of valid configurations."""
        return math.prod(len(part) for part in self._valid_parts)

    @property
    def is_empty(self) -> bool:
        """Whether no configuration is valid; found without enumerating the space."""
        return not self.enumerate_valid(1)

    def configurations(self) -> Iterator[Configuration]:
        """Every valid configuration, in the same order each time."""
        return self._joined(self._valid_parts)

    def enumerate_valid(self, limit: int) -> list[Configuration]:
        """The first valid configurations, as many as there are up to the limit."""
        parts = [list(islice(self._assignments(names), limit)) for names in self._components]
        return list(islice(self._joined(parts), limit))

    def contains(self, configuration: Mapping[str, Value]) -> bool:
        """Whether the configuration is valid."""
        return self.is_valid(configuration) is None

    def is_valid(self, configuration: Mapping[str, Value]) -> str | None:
        """Why the configuration is not valid, in words; None if it is."""
        for name in configuration:
            if name not in self.tunables:
                return f"there is no tunable '{name}': {suggestion(name, self.tunables, 'tunables')}"
        for name, values in self.tunables.items():
            if name not in configuration:
                return f"'{name}' has no value"
            chosen = configuration[name]
            if not any(type(chosen) is type(value) and chosen == value for value in values):
                return f"{name} = {chosen!r} is not among {', '.join(map(repr, values))}"
        names = {**self._sizes, **configuration}
        return next((reason for rule in self._rules if (reason := rule.broken(names)) is not None), None)

    @cached_property
    def _valid_parts(self) -> list[list[tuple[Value, ...]]]:
        return [list(self._assignments(names)) for names in self._components]

    def _joined(self, parts: list[list[tuple[Value, ...]]]) -> Iterator[Configuration]:
        """Each combination of one assignment for every component."""
        order = [name for names in self._components for name in names]
        for choice in product(*parts):
            bound = dict(zip(order, (value for part in choice for value in part), strict=True))
            yield {name: bound[name] for name in self.tunables}

    @cached_property
    def _components(self) -> list[list[str]]:
        """The tunables in groups that no rule connects, each in the order in which they are best bound.

        The first group is empty: its one assignment exists unless a rule about sizes alone is broken.
        """
        groups: list[set[str]] = [{name} for name in self.tunables]
        for rule in self._rules:
            touched = [group for group in groups if group & rule.names]
            if len(touched) > 1:
                groups = [group for group in groups if group not in touched] + [set().union(*touched)]
        position = {name: index for index, name in enumerate(self.tunables)}
        groups.sort(key=lambda group: min(position[name] for name in group))
        return [[], *(self._binding_order(group) for group in groups)]

    def _binding_order(self, group: set[str]) -> list[str]:
        """Next is always a tunable of the rule that can be applied soonest."""
        order: list[str] = []
        while len(order) < len(group):
            free = [name for name in self.tunables if name in group and name not in order]
            pending = [rule.names - set(order) for rule in self._rules if rule.names & set(free)]
            soonest = min(pending, key=len, default=frozenset(free))
            order.extend(name for name in free if name in soonest)
        return order

    def _assignments(self, order: list[str]) -> Iterator[tuple[Value, ...]]:
        """Backtracking over the tunables in this order; yields their values in it."""
        due = [[_Verdicts(rule) for rule in rules] for rules in self._rules_by_depth(order)]
        names: dict[str, object] = dict(self._sizes)

        def extend(depth: int, bound: tuple[Value, ...]) -> Iterator[tuple[Value, ...]]:
            for verdicts in due[depth]:
                if not verdicts.hold(names):
                    return
            if depth == len(order):
                yield bound
                return
            for value in self.tunables[order[depth]]:
                names[order[depth]] = value
                yield from extend(depth + 1, (*bound, value))

        return extend(0, ())

    def _rules_by_depth(self, order: list[str]) -> list[list[_Rule | _ThreadLimit]]:
        """For each number of bound tunables, the rules that can be applied then and not before."""
        due: list[list[_Rule | _ThreadLimit]] = [[] for _ in range(len(order) + 1)]
        for rule in self._rules:
            if rule.names <= set(order) and bool(rule.names) == bool(order):
                due[max((order.index(name) + 1 for name in rule.names), default=0)].append(rule)
        return due
