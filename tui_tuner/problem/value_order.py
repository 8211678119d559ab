"""Which values of a tunable are near each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from tui_tuner.problem.table import Value


def exact(value: Value) -> Hashable:
    """Tells True from 1 and 1 from 1.0, which are equal to Python and not to a compiler."""
    return type(value), value


def exact_key(configuration: Mapping[str, Value]) -> Hashable:
    """A key that equal configurations share and no others, whatever the order of their names."""
    return frozenset((name, exact(value)) for name, value in configuration.items())


def is_ordinal(values: Sequence[Value]) -> bool:
    """Whether the values have an order: they are numbers, each another one."""
    return not any(isinstance(value, str | bool) for value in values) and len(set(values)) == len(values)


def in_order(values: Sequence[Value]) -> list[Value]:
    """Numbers ascending; text and truth values, which have no order, as they are given."""
    if not is_ordinal(values):
        return list(values)
    return sorted(values, key=float)


def steps_between(values: Sequence[Value]) -> dict[Hashable, int]:
    """The place of each value in its order: the difference of two of them is their distance in steps."""
    return {exact(value): place for place, value in enumerate(in_order(values))}
