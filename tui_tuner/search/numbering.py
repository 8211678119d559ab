"""A search space as plain numbers, which is all that the search process sees of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tui_tuner.problem.languages import Configuration, Value
from tui_tuner.problem.tunables import exact, exact_key

TunableNumber = int | float


@dataclass(frozen=True)
class NumberedSpace:
    """Valid configurations by their position, and as points with one number a tunable.

    Attributes:
        configurations: the valid ones, each once.
        points: the same as numbers; tunables that have one valid value are left out.
        axes: the numbers that occur of each tunable left, ascending.
    """

    configurations: tuple[Configuration, ...]
    points: tuple[tuple[TunableNumber, ...], ...]
    axes: dict[str, list[TunableNumber]]

    def position(self, configuration: Configuration | None) -> int | None:
        """Where a configuration stands among the valid ones; None where it does not."""
        return None if configuration is None else self._positions.get(exact_key(configuration))

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {exact_key(valid): position for position, valid in enumerate(self.configurations)}


def numbered(tunables: Mapping[str, Sequence[Value]], valid: Iterable[Configuration]) -> NumberedSpace:
    """Number the valid configurations of tunables with these values.

    Numbers stand for themselves; values of a tunable that has anything else (text, truth values)
    are numbered in their given order, since a search compares and interpolates numbers only.
    """
    configurations = tuple({exact_key(one): one for one in valid}.values())
    axes: dict[str, list[TunableNumber]] = {}
    columns: list[list[TunableNumber]] = []
    for name, values in tunables.items():
        numbers = _numbers(values)
        column = [numbers[exact(configuration[name])] for configuration in configurations]
        if len(occurring := sorted(set(column))) > 1:
            axes[name] = occurring
            columns.append(column)
    return NumberedSpace(configurations, tuple(zip(*columns, strict=True)), axes)


def _numbers(values: Sequence[Value]) -> dict[Hashable, TunableNumber]:
    numeric = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(set(numeric)) == len(values):
        return {exact(value): value for value in numeric}
    return {exact: position for position, exact in enumerate(dict.fromkeys(map(exact, values)))}
