"""What a parameter may be, where its values are single ones: listed, from ranges of numbers, or anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple, Protocol, TypeGuard

from tui_tuner.problem.nearest import nearest
from tui_tuner.tensile.values import ParameterValue, value_text


class Rule(Protocol):
    """Which values a parameter takes."""

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is valid; equality is Python's, as in Tensile: `True` is 1, 2.0 is 2."""

    def words(self) -> str:
        """The valid values in short."""

    def near(self, value: ParameterValue) -> list[ParameterValue]:
        """Valid values near one that is not, at most two; none where nothing is near."""

    def written(self, value: ParameterValue) -> ParameterValue:
        """A valid value with the type that Tensile's table has."""


class NumberRange(NamedTuple):
    """Numbers from `low` to `high`, both included."""

    low: float
    high: float
    step: float

    def at(self, index: int) -> float:
        """A number by its place; in decimals, so that 0.07 is the nearest binary number to 0.07."""
        exact = Decimal(str(self.low)) + index * Decimal(str(self.step))
        return int(exact) if all(isinstance(part, int) for part in self) else float(exact)

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is one of the numbers."""
        if not isinstance(value, int | float) or not self.low <= value <= self.high:
            return False
        return self.at(round((value - self.low) / self.step)) == value

    def around(self, value: float) -> list[float]:
        """The numbers next to a value, below and above."""
        if not self.low < value < self.high:
            return [self.low if value <= self.low else self.high]
        index = math.floor((value - self.low) / self.step)
        return [self.at(index), self.at(index + 1)]

    def words(self) -> str:
        """As in "1 to 1024"."""
        step = "" if self.step == 1 else f" in steps of {self.step}"
        return f"{self.low} to {self.high}{step}"


class Listed:
    """Values of a list, numbers of ranges, or both."""

    def __init__(self, values: Sequence[ParameterValue], ranges: Sequence[NumberRange] = ()) -> None:
        self.values = tuple(values)
        self.ranges = tuple(ranges)

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is listed or in a range."""
        return value in self.values or any(one.takes(value) for one in self.ranges)

    def words(self) -> str:
        """As in "-1, 2 to 1024"."""
        return ", ".join([*_shortened(self.values), *(one.words() for one in self.ranges)])

    def near(self, value: ParameterValue) -> list[ParameterValue]:
        """The nearest numbers below and above, or the most similar word."""
        if isinstance(value, str):
            words = [one for one in self.values if isinstance(one, str)]
            word = nearest(value, words)
            return [] if word is None else [word]
        numbers = [one for one in self.values if isinstance(one, int | float)]
        if isinstance(value, list) or (isinstance(value, float) and math.isnan(value)):
            return []
        numbers += [one for numbers_of in self.ranges for one in numbers_of.around(value)]
        below = [one for one in numbers if one < value]
        above = [one for one in numbers if one > value]
        return [*([max(below)] if below else []), *([min(above)] if above else [])]

    def nearest(self, value: float) -> float:
        """The valid number nearest to a number, the lower one of two; the number itself where none is near."""
        if self.takes(value):
            return value
        numbers = [one for one in self.near(value) if isinstance(one, int | float)]
        return min(numbers, key=lambda one: abs(one - value), default=value)

    def written(self, value: ParameterValue) -> ParameterValue:
        """The value as listed; a number of a range as the range has it."""
        if any(type(one) is type(value) and one == value for one in self.values):
            return value
        for one in self.ranges:
            if isinstance(value, int | float) and one.takes(value):
                return one.at(round((value - one.low) / one.step))
        return next((one for one in self.values if one == value), value)


class Anything:
    """Tensile does not check the value."""

    def takes(self, value: ParameterValue) -> bool:
        """Always."""
        return True

    def words(self) -> str:
        """It is free."""
        return "free"

    def near(self, value: ParameterValue) -> list[ParameterValue]:
        """Never asked for: every value is valid."""
        return []

    def written(self, value: ParameterValue) -> ParameterValue:
        """The value itself."""
        return value


def _shortened(values: Iterable[ParameterValue]) -> list[str]:
    """The values as text, four or more whole numbers in a row as in "0 to 7"."""
    runs: list[list[ParameterValue]] = []
    for value in values:
        last = runs[-1][-1] if runs else None
        if _is_whole(value) and _is_whole(last) and value == last + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    texts: list[str] = []
    for run in runs:
        texts += [f"{run[0]} to {run[-1]}"] if len(run) > 3 else map(value_text, run)
    return texts


def _is_whole(value: ParameterValue | None) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
