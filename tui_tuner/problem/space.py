"""The search space of a kernel: which configurations of its tunables are valid, and random ones of them."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from tui_tuner.problem.component import (
    Assignment,
    Component,
    ListedComponent,
    Restriction,
    RuledComponent,
    SpaceRule,
    ThreadLimit,
    Verdicts,
)
from tui_tuner.problem.expressions import Parsed, check_expression, conjuncts, parse_expression
from tui_tuner.problem.languages import Configuration, Value
from tui_tuner.problem.tunables import exact, exact_key
from tui_tuner.text import suggestion

if TYPE_CHECKING:
    from tui_tuner.problem.model import Expression  # pydantic, which searches in processes of their own do without

MANY = 1_000_000
"""A space with more configurations than this is called large, and is not said to have an exact number."""
WALKED = 2
"""A space with so many times the configurations wanted is walked rather than drawn from."""
_FRUITLESS = 200
"""Draws in a row that bring nothing new, after which there is taken to be no more."""
_AXES = ("x", "y", "z")


class SearchSpace:
    """The valid configurations of a set of tunables.

    Tunables that no restriction connects are enumerated apart from each other, and each restriction is applied
    as soon as all its names are bound, so that the product of all values is never walked.

    Args:
        tunables: the values of each tunable.
        restrictions: expressions over tunables and sizes, all of which must hold.
        sizes: values of the names that are no tunables.
        max_threads: threads that a block may have on the device; None for no limit.
        block_size: threads of a block along x, y, z, where they are not the tunables `block_size_x`, `_y`, `_z`.
        members: where given, only these exist, as in a recording; all else holds for them too.

    Attributes:
        tunables: the values of each, every one once.
        rules: the parts of the restrictions, and the thread limit.
        sizes: as given.

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
        block_size: Sequence[Expression] | None = None,
        members: Collection[Configuration] | None = None,
    ) -> None:
        self.tunables = {name: tuple(dict.fromkeys(values)) for name, values in tunables.items()}
        self.sizes = dict(sizes or {})
        self._given = (tuple(restrictions), max_threads, block_size)
        self._members = None if members is None else {exact_key(member): member for member in members}
        self.rules: list[SpaceRule] = [*self._restrictions(restrictions)]
        if max_threads is not None:
            self.rules.append(ThreadLimit(self.block_names, self._block, max_threads))

    def _restrictions(self, restrictions: Sequence[str]) -> Iterator[Restriction]:
        for restriction in restrictions:
            check_expression(restriction, [*self.tunables, *self.sizes])
            for part in conjuncts(restriction):
                condition = parse_expression(part)
                yield Restriction(part, condition.names & self.tunables.keys(), condition)

    @cached_property
    def _block(self) -> tuple[Parsed, ...]:
        """The threads of a block along its axes."""
        given = [f"block_size_{axis}" for axis in _AXES if f"block_size_{axis}" in self.tunables]
        return tuple(parse_expression(str(extent)) for extent in self._given[2] or given)

    @cached_property
    def block_names(self) -> frozenset[str]:
        """The tunables that decide how many threads a block has; none where nothing says what a block is."""
        return frozenset().union(*(extent.names for extent in self._block)) & self.tunables.keys()

    def threads(self, configuration: Mapping[str, Value]) -> float:
        """The threads of a block, from a configuration or those of its values that are `block_names`.

        Raises:
            ExpressionError: the block size has no value.
            ValueError: it is text.
        """
        names = {**self.sizes, **configuration}
        return math.prod(float(extent.value(names)) for extent in self._block)

    @property
    def description(self) -> dict[str, Any]:
        """All that makes this space, as JSON can hold it."""
        restrictions, max_threads, block_size = self._given
        return {
            "tunables": self.tunables,
            "restrictions": restrictions,
            "sizes": self.sizes,
            "max_threads": max_threads,
            "block_size": block_size,
            "members": None if self._members is None else list(self._members.values()),
        }

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> SearchSpace:
        """The space with this description."""
        return cls(**description)

    @property
    def size(self) -> int:
        """The number of valid configurations, counted without walking them; `MANY` where that takes too long."""
        return self._count if self._count is not None else MANY

    @property
    def size_in_words(self) -> str:
        """The number of valid configurations, or that there are more than a million."""
        return str(self.size) if self._count is not None and self.size <= MANY else f"more than {MANY:,}"

    def size_up_to(self, limit: int) -> int:
        """The number of valid configurations where it is below the limit, else, or if counting is hard, the limit."""
        return limit if self._count is None else min(self._count, limit)

    @cached_property
    def _count(self) -> int | None:
        counts = [component.count for component in self.components]
        known = [count for count in counts if count is not None]
        return math.prod(known) if 0 in known or len(known) == len(counts) else None

    @property
    def is_empty(self) -> bool:
        """Whether no configuration is valid; found without enumerating the space."""
        return not self.has_more_than(0)

    def has_more_than(self, limit: int) -> bool:
        """Whether more configurations are valid; no group of tunables is walked further than that takes."""
        found = (len(list(islice(component.assignments(), limit + 1))) for component in self.components)
        return math.prod(found) > limit

    def configurations(self) -> Iterator[Configuration]:
        """Every valid configuration, in the same order each time. A large space takes as long as it has members."""
        return self._joined([list(component.assignments()) for component in self.components])

    def enumerate_valid(self, limit: int) -> list[Configuration]:
        """The first valid configurations, as many as there are up to the limit."""
        parts = [list(islice(component.assignments(), limit)) for component in self.components]
        return list(islice(self._joined(parts), limit))

    def sample(self, count: int, rng: random.Random) -> list[Configuration]:
        """Different valid configurations at random, fewer where there are not so many or no more are found.

        Uniform wherever the space can be counted, which most large ones can; works without enumerating.
        """
        if self.size_up_to(WALKED * count + 1) <= WALKED * count:
            everything = list(self.configurations())
            return rng.sample(everything, min(count, len(everything)))
        drawn: dict[object, Configuration] = {}
        fruitless = 0
        while len(drawn) < count and fruitless < _FRUITLESS:
            configuration = self._draw(rng)
            if configuration is None:
                break
            fruitless += 1
            if (key := exact_key(configuration)) not in drawn:
                drawn[key] = configuration
                fruitless = 0
        return list(drawn.values())

    def _draw(self, rng: random.Random) -> Configuration | None:
        choice = []
        for component in self.components:
            assignment = component.draw(rng)
            if assignment is None:
                return None
            choice.append(assignment)
        return self.joined(choice)

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
            if not isinstance(chosen, Hashable) or exact(chosen) not in self._offered[name]:
                return f"{name} = {chosen!r} is not among {', '.join(map(repr, values))}"
        broken = next(iter(self.broken_rules(configuration)), None)
        if broken is not None:
            return broken.broken({**self.sizes, **configuration})
        if self._members is not None and exact_key(configuration) not in self._members:
            return "the recording does not hold it"
        return None

    @cached_property
    def _offered(self) -> dict[str, frozenset[Hashable]]:
        """The values of each tunable, for one look at whether a value is among them."""
        return {name: frozenset(map(exact, values)) for name, values in self.tunables.items()}

    def allows(self, values: Mapping[str, Value]) -> bool:
        """Whether some valid configuration has these values of some tunables."""
        if self._members is not None:
            wanted = values.items()
            fitting = (one for one in self._members.values() if all(one[name] == value for name, value in wanted))
            return any(self.contains(one) for one in fitting)
        restrictions, max_threads, block_size = self._given
        tunables = {**self.tunables, **{name: (value,) for name, value in values.items()}}
        narrowed = SearchSpace(tunables, restrictions, sizes=self.sizes, max_threads=max_threads, block_size=block_size)
        return not narrowed.is_empty

    def holds(self, configuration: Configuration) -> bool:
        """Whether a configuration of listed values is valid; quicker than `contains` where many are asked about."""
        names = {**self.sizes, **configuration}
        is_member = self._members is None or exact_key(configuration) in self._members
        return is_member and all(verdicts.hold(names) for verdicts in self._verdicts)

    @cached_property
    def _verdicts(self) -> list[Verdicts]:
        return [Verdicts(rule) for rule in self.rules]

    def broken_rules(self, configuration: Mapping[str, Value]) -> Iterator[SpaceRule]:
        """The rules that a configuration with a value for every tunable does not satisfy."""
        names = {**self.sizes, **configuration}
        return (rule for rule in self.rules if rule.broken(names) is not None)

    @cached_property
    def components(self) -> list[Component]:
        """The tunables in groups that no rule connects; every choice of one assignment of each is valid.

        The first group is empty: its one assignment exists unless a rule about sizes alone is broken.
        """
        if self._members is not None:
            valid = [member for member in self._members.values() if self.contains(member)]
            names = list(self.tunables)
            return [ListedComponent(names, [tuple(member[name] for name in names) for member in valid])]
        return [self._ruled(names) for names in groups(list(self.tunables), self.rules)]

    def _ruled(self, names: list[str]) -> RuledComponent:
        rules = [rule for rule in self.rules if rule.names <= set(names) and bool(rule.names) == bool(names)]
        return RuledComponent(names, self.tunables, rules, self.sizes)

    def _joined(self, parts: list[list[Assignment]]) -> Iterator[Configuration]:
        """Each combination of one assignment for every component."""
        for choice in product(*parts):
            yield self.joined(choice)

    def joined(self, choice: Sequence[Assignment]) -> Configuration:
        """The configuration made of one assignment for every component."""
        order = (name for component in self.components for name in component.names)
        bound = dict(zip(order, (value for part in choice for value in part), strict=True))
        return {name: bound[name] for name in self.tunables}


def groups(names: Sequence[str], rules: Sequence[SpaceRule]) -> list[list[str]]:
    """The tunables that no rule connects, apart from each other, each group in the order in which it is best bound.

    The first group is empty: it is that of the rules about sizes alone.
    """
    connected: list[set[str]] = [{name} for name in names]
    for rule in rules:
        touched = [group for group in connected if group & rule.names]
        if len(touched) > 1:
            connected = [group for group in connected if group not in touched] + [set().union(*touched)]
    position = {name: index for index, name in enumerate(names)}
    connected.sort(key=lambda group: min(position[name] for name in group))
    return [[], *(_binding_order(group, names, rules) for group in connected)]


def _binding_order(group: Collection[str], names: Sequence[str], rules: Sequence[SpaceRule]) -> list[str]:
    """Next is always a tunable of the rule that can be applied soonest."""
    order: list[str] = []
    while len(order) < len(group):
        free = [name for name in names if name in group and name not in order]
        pending = [rule.names - set(order) for rule in rules if rule.names & set(free)]
        soonest = min(pending, key=len, default=frozenset(free))
        order.extend(name for name in free if name in soonest)
    return order
