"""What is known of a search space before anything is measured, and of what is near the best; exact, in few lines."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, product

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.prompts.ranking import effect_elsewhere

LISTED = 20_000
"""No bounds are told of a space with more configurations: they would have to be listed."""
MOST_BOUNDS = 10
MOST_NEIGHBOURS = 16
_MOST_VALUES = 12
_AXIS = re.compile(r"_?[xyz]$")


@lru_cache(maxsize=4)
def bounds_facts(space: SearchSpace, *, of_products: bool = True) -> tuple[str, ...]:
    """What the valid configurations have in common beyond the lists of values: products, multiples, needs of switches.

    Listing them takes up to a second; prompts of one search ask again and again.

    Args:
        of_products: whether multiples of the product of two tunables are told.
    """
    if space.size_up_to(LISTED + 1) > LISTED:
        return ()
    members = list(space.configurations())
    free = {name: values for name, values in space.tunables.items() if len(values) > 1}
    multiples = _multiples(members, free, of_products=of_products)
    return tuple([*_products(members, free), *multiples, *_needs(members, free)][:MOST_BOUNDS])


def neighbour_facts(best: Configuration, new: Sequence[Configuration], evaluations: Sequence[Evaluation] = ()) -> str:
    """Configurations that differ from the best in one tunable, each as what is other in it.

    Args:
        evaluations: where the same change was measured elsewhere, what it did there is told.
    """
    told = [_changed(best, one) + _elsewhere(best, one, evaluations) for one in new]
    more = f" and {len(new) - MOST_NEIGHBOURS} more" if len(new) > MOST_NEIGHBOURS else ""
    return "; ".join(told[:MOST_NEIGHBOURS]) + more


def _changed(one: Configuration, other: Configuration) -> str:
    return ", ".join(f"{name}={value}" for name, value in other.items() if value != one[name])


def _elsewhere(best: Configuration, one: Configuration, evaluations: Sequence[Evaluation]) -> str:
    ratio = effect_elsewhere(best, one, evaluations)
    return "" if ratio is None else f" ({ratio:.3g})"


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


def _multiples(
    members: Sequence[Configuration], free: Mapping[str, Sequence[Value]], *, of_products: bool
) -> Iterator[str]:
    """The tunables that are always multiples of others, or of products of two, where their lists would allow else."""
    numbers = {name: values for name, values in free.items() if all(type(v) is int and v > 0 for v in values)}
    columns = {name: [int(one[name]) for one in members] for name in numbers}

    def divides(name: str, factors: Sequence[str]) -> bool:
        rows = set(zip(columns[name], *(columns[factor] for factor in factors), strict=True))
        return not any(one % math.prod(row) for one, *row in rows)

    def could_fail(name: str, factors: Sequence[str]) -> bool:
        lists = product(*(numbers[factor] for factor in factors))
        return any(int(value) % math.prod(map(int, row)) for row in lists for value in numbers[name])

    for name in numbers:
        single = [(other,) for other in numbers if other != name and divides(name, [other])]
        together = [
            (*one, *other) for one, other in combinations(single, 2) if of_products and divides(name, [*one, *other])
        ]
        implied = {(factor,) for pair in together for factor in pair}
        told = [factors for factors in [*single, *together] if could_fail(name, factors) and factors not in implied]
        if told:
            yield f"{name} is a multiple of {', of '.join(' * '.join(factors) for factors in told)}"


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
