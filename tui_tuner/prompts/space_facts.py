"""What is known of a search space before anything is measured, and of what is near the best; exact, in few lines."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.nearby import neighbours
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact_key

LISTED = 20_000
"""Of a space with more configurations no bounds are told: they would have to be listed."""
MOST_BOUNDS = 10
MOST_NEIGHBOURS = 16
_MOST_VALUES = 12
_AXIS = re.compile(r"_?[xyz]$")


@lru_cache(maxsize=4)
def bounds_facts(space: SearchSpace) -> tuple[str, ...]:
    """What the valid configurations have in common beyond the lists of values: products, multiples, needs of switches.

    Listing them takes up to a second; prompts of one search ask again and again.
    """
    if space.size_up_to(LISTED + 1) > LISTED:
        return ()
    members = list(space.configurations())
    free = {name: values for name, values in space.tunables.items() if len(values) > 1}
    return tuple([*_products(members, free), *_multiples(members, free), *_needs(members, free)][:MOST_BOUNDS])


def neighbour_facts(space: SearchSpace, best: Configuration, measured: Sequence[Configuration]) -> str:
    """The valid ones one step from the best that are not measured, each as what is other in it."""
    known = {exact_key(configuration) for configuration in measured}
    new = [_changed(best, one) for one in neighbours(space, best) if exact_key(one) not in known]
    more = f" and {len(new) - MOST_NEIGHBOURS} more" if len(new) > MOST_NEIGHBOURS else ""
    return "; ".join(new[:MOST_NEIGHBOURS]) + more


def _changed(one: Configuration, other: Configuration) -> str:
    return ", ".join(f"{name}={value}" for name, value in other.items() if value != one[name])


def _products(members: Sequence[Configuration], free: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    """The range of the product of one tunable along several axes, where it is narrower than the lists allow."""
    stems: defaultdict[str, list[str]] = defaultdict(list)
    for name, values in free.items():
        if _AXIS.search(name) and all(type(value) is int for value in values):
            stems[_AXIS.sub("", name)].append(name)
    for names in (names for names in stems.values() if len(names) > 1):
        products = [math.prod(int(one[name]) for name in names) for one in members]
        least, most = (math.prod(int(end(free[name])) for name in names) for end in (min, max))
        if (min(products), max(products)) != (least, most):
            yield f"{' * '.join(names)}: {min(products)} to {max(products)}"


def _multiples(members: Sequence[Configuration], free: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    """The tunables that are always multiples of others, where their lists would allow else."""
    numbers = {name: values for name, values in free.items() if all(type(v) is int and v > 0 for v in values)}
    columns = {name: [int(one[name]) for one in members] for name in numbers}
    for name, values in numbers.items():
        divisors = [
            other
            for other, others in numbers.items()
            if other != name
            and any(int(value) % int(divisor) for value in values for divisor in others)
            and not any(one % two for one, two in set(zip(columns[name], columns[other], strict=True)))
        ]
        if divisors:
            yield f"{name} is a multiple of {', of '.join(divisors)}"


def _needs(members: Sequence[Configuration], free: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    """For each position of a switch the values of other tunables that occur with it, where some never do."""
    for switch in (name for name, values in free.items() if len(values) == 2):
        for position in free[switch]:
            own = [one for one in members if one[switch] == position]
            for name, values in free.items():
                occurring = {one[name] for one in own}
                missing = [value for value in values if value not in occurring]
                if own and missing and name != switch:
                    yield f"{switch}={position} occurs only with {name} {_listed(values, occurring, missing)}"


def _listed(values: Sequence[Value], occurring: set[Value], missing: Sequence[Value]) -> str:
    """The shorter of what occurs and what does not."""
    if len(missing) < len(occurring):
        return f"other than {_short(missing)}"
    return _short([value for value in values if value in occurring])


def _short(values: Sequence[Value]) -> str:
    shown = ", ".join(map(str, values[:_MOST_VALUES]))
    return shown if len(values) <= _MOST_VALUES else f"{shown}, ..."
