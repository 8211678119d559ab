"""Configurations near others: neighbours, new ones near the best, and the valid one nearest to one that is not."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from tui_tuner.problem.component import ListedComponent, by_depth
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact, exact_key, in_order, is_ordinal, steps_between
from tui_tuner.text import nearest

STEPS = 100_000
"""Values tried in a repair before nothing is taken to be near."""


def neighbours(space: SearchSpace, configuration: Configuration) -> list[Configuration]:
    """The valid ones that differ in one tunable: by one step of a number's values, in any other value of text."""
    changed = (
        {**configuration, name: value}
        for name, values in space.tunables.items()
        for value in _beside(configuration[name], values)
    )
    return [neighbour for neighbour in changed if space.contains(neighbour)]


def around(space: SearchSpace, configuration: Configuration) -> list[Configuration]:
    """The neighbours, and behind them those at about half and double of a number, where its list has finer steps."""
    farther = (
        {**configuration, name: value}
        for name, values in space.tunables.items()
        if is_ordinal(values)
        for value in _at_half_and_double(configuration[name], values)
    )
    return new_ones([*neighbours(space, configuration), *filter(space.contains, farther)], [configuration])


def random_batch(
    space: SearchSpace, measured: Sequence[Configuration], count: int, rng: random.Random
) -> list[Configuration]:
    """Random valid configurations that are not measured, as many as wanted or as there are."""
    return new_ones(space.sample(count + len(measured), rng), measured, count)


def pattern_batch(
    space: SearchSpace,
    ranked: Sequence[Configuration],
    taken: Sequence[Configuration],
    count: int,
    rng: random.Random,
    near: Callable[[Configuration], Iterable[Configuration]] | None = None,
) -> list[Configuration]:
    """New neighbours of the best, then those of the second best and so on, then random ones.

    Pattern search after R. Hooke and T. A. Jeeves, "Direct search" solution of numerical and statistical problems,
    J. ACM 8(2), 1961: exploratory moves along one coordinate at a time, from the best point known.

    Args:
        near: what is taken for the neighbours of a configuration, in their order.
    """
    beside = near or partial(neighbours, space)
    batch = new_ones((one for best in ranked for one in beside(best)), taken, count)
    return [*batch, *random_batch(space, [*taken, *batch], count - len(batch), rng)]


def new_ones(
    proposed: Iterable[Configuration], known: Sequence[Configuration], count: float = math.inf
) -> list[Configuration]:
    """The first so many that are not known, each once."""
    keys = {exact_key(configuration) for configuration in known}
    batch: list[Configuration] = []
    for configuration in proposed:
        if len(batch) >= count:
            break
        if exact_key(configuration) not in keys:
            keys.add(exact_key(configuration))
            batch.append(configuration)
    return batch


def nearest_valid(
    space: SearchSpace,
    configuration: Mapping[str, Value],
    default: Mapping[str, Value] | None = None,
) -> Configuration | None:
    """The valid configuration with the fewest tunables changed, then fewest steps away, then the first in order.

    Args:
        configuration: may have unknown names, which are left out, and values that are not listed: such a tunable is
            changed whatever it becomes, and steps are counted from the nearest value listed.
        default: gives missing values; without it the first of a tunable does.

    Returns:
        None where nothing is near, as far as bounded work shows.
    """
    if not all(space.tunables.values()):
        return None
    given = {name: values[0] for name, values in space.tunables.items()} | dict(default or {})
    wanted = {name: configuration.get(name, given[name]) for name in space.tunables}
    listed = {name: _listed(wanted[name], values, given[name]) for name, values in space.tunables.items()}
    if isinstance(space.components[0], ListedComponent):
        return _nearest_member(space, wanted, listed)
    return _Repair(space, wanted, listed).nearest()


def _beside(value: Value, values: Sequence[Value]) -> list[Value]:
    if not is_ordinal(values):
        return [other for other in values if exact(other) != exact(value)]
    ordered = in_order(values)
    place = ordered.index(value)
    return [*ordered[max(0, place - 1) : place], *ordered[place + 1 : place + 2]]


def _at_half_and_double(value: Value, values: Sequence[Value]) -> list[Value]:
    numbers = [one for one in values if not isinstance(one, str | bool)]
    if isinstance(value, str | bool) or not numbers:
        return []
    return [min(numbers, key=lambda one: abs(one - wanted)) for wanted in (value / 2, value * 2)]


def _listed(value: Value, values: Sequence[Value], default: Value) -> Value:
    """The listed value nearest to one that may not be listed."""
    if any(exact(value) == exact(listed) for listed in values):
        return value
    if isinstance(value, str):
        named = {str(listed): listed for listed in values}
        match = nearest(value, named)
        return default if match is None else named[match]
    numbers = [listed for listed in values if not isinstance(listed, str)]
    return min(numbers, key=lambda listed: abs(listed - value), default=default)


def _distance(wanted: Configuration, other: Configuration, places: Mapping[str, Mapping[Hashable, int]]) -> int:
    return sum(_apart(places[name], wanted[name], value) for name, value in other.items())


def _apart(places: Mapping[Hashable, int], one: Value, other: Value) -> int:
    """Steps between two values; between text or truth values always one."""
    apart = abs(places[exact(one)] - places[exact(other)])
    return min(apart, 1) if isinstance(one, str | bool) else apart


def _nearest_member(space: SearchSpace, wanted: Configuration, listed: Configuration) -> Configuration | None:
    places = {name: steps_between(values) for name, values in space.tunables.items()}
    return min(
        space.configurations(),
        key=lambda member: (
            sum(exact(member[name]) != exact(value) for name, value in wanted.items()),
            _distance(listed, member, places),
        ),
        default=None,
    )


class _Repair:
    """Looks for the valid configurations with one tunable changed, then with two, and so on.

    The tunables of broken rules come first and a rule is applied as soon as all its names are bound, so that little
    is tried in vain.
    """

    def __init__(self, space: SearchSpace, wanted: Configuration, listed: Configuration) -> None:
        self._space = space
        self._wanted = wanted
        self._listed = listed
        self._places = {name: steps_between(values) for name, values in space.tunables.items()}
        culprits = {name for rule in space.broken_rules(listed) for name in rule.names}
        groups = sorted(space.components, key=lambda component: not culprits & set(component.names))
        self._order = [name for component in groups for name in component.names]
        self._due = by_depth(space.rules, self._order)
        self._names: dict[str, Value] = dict(space.sizes)
        self._steps = STEPS

    def nearest(self) -> Configuration | None:
        """The nearest one, None where the work is done before one is found."""
        for changes in range(len(self._order) + 1):
            if found := list(self._with(changes, 0)):
                return min(found, key=lambda one: _distance(self._listed, one, self._places))
            if not self._steps:
                return None
        return None

    def _with(self, changes: int, depth: int) -> Iterator[Configuration]:
        """The valid ones that agree with what is bound and have exactly so many changes more."""
        if not self._hold(depth):
            return
        if not changes:
            if not all(self._is_listed(name) for name in self._order[depth:]):
                return
            self._names.update((name, self._wanted[name]) for name in self._order[depth:])
            if all(self._hold(later) for later in range(depth + 1, len(self._due))):
                yield {name: self._names[name] for name in self._space.tunables}
            return
        name = self._order[depth]
        for value in self._values(name, changes, len(self._order) - depth):
            if not self._steps:
                return
            self._steps -= 1
            self._names[name] = value
            yield from self._with(changes - (exact(value) != exact(self._wanted[name])), depth + 1)

    def _hold(self, depth: int) -> bool:
        return all(verdicts.hold(self._names) for verdicts in self._due[depth])

    def _is_listed(self, name: str) -> bool:
        return exact(self._wanted[name]) in self._places[name]

    def _values(self, name: str, changes: int, left: int) -> list[Value]:
        """The wanted value, where not all that is left must change, and if one may change the others, nearest first."""
        wanted = self._wanted[name]
        others = [value for value in self._space.tunables[name] if exact(value) != exact(wanted)] if changes else []
        others.sort(key=lambda value: _apart(self._places[name], self._listed[name], value))
        return [*([wanted] if changes < left and self._is_listed(name) else []), *others]
