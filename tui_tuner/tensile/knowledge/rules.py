"""The rules that tell which values a parameter takes: one value, numbers, and lists of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import prod
from typing import NamedTuple, TypeGuard

from tui_tuner.tensile.document import ParameterValue, value_text
from tui_tuner.text import nearest


class ValueRule(ABC):
    """Which values a parameter takes."""

    @abstractmethod
    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is valid; equality is Python's, as in Tensile: `True` is 1, 2.0 is 2."""

    @abstractmethod
    def words(self) -> str:
        """The valid values in short."""

    def near(self, value: ParameterValue) -> list[ParameterValue]:
        """Valid values near one that is not, at most two; none where nothing is near."""
        return []

    def written(self, value: ParameterValue) -> ParameterValue:
        """A valid value with the type that Tensile's table has: as it is, where that has none of its own."""
        return value


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


class ListedRule(ValueRule):
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
        if isinstance(value, list | dict) or (isinstance(value, float) and math.isnan(value)):
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


class AnyValueRule(ValueRule):
    """Tensile does not check the value."""

    def takes(self, value: ParameterValue) -> bool:
        """Always."""
        return True

    def words(self) -> str:
        """It is free."""
        return "free"


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


class ListRule(ValueRule):
    """What rules of lists share: the neighbour of a list has its length."""

    def near(self, value: ParameterValue) -> list[ParameterValue]:
        """The list with each number replaced by the nearest valid one, where that makes a valid list."""
        if not isinstance(value, list) or not all(isinstance(one, int) for one in value):
            return []
        neighbour = self._neighbour(value)
        return [neighbour] if self.takes(neighbour) else []

    def _neighbour(self, value: list[int]) -> list[int]:
        return value


class PairRule(ListRule):
    """Two numbers, each one of `sides`; their product at most `area` where that is given."""

    def __init__(self, sides: ListedRule, area: int | None) -> None:
        self._sides = sides
        self._area = area

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is such a pair."""
        if not isinstance(value, list) or len(value) != 2 or not all(map(self._sides.takes, value)):
            return False
        return self._area is None or prod(value) <= self._area

    def _neighbour(self, value: list[int]) -> list[int]:
        return [int(self._sides.nearest(side)) for side in value]

    def words(self) -> str:
        """As in "[a, b], each of 1, 2, 4"."""
        area = "" if self._area is None else f", a x b at most {self._area}"
        return f"[a, b], each of {self._sides.words()}{area}"


class WorkGroupRule(ListRule):
    """Two sides and a split of the sum over K; their product, the threads, is one of `threads`."""

    def __init__(self, threads: NumberRange, splits: Sequence[int]) -> None:
        self._threads = threads
        self._splits = ListedRule(splits)

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is such a work-group."""
        if not isinstance(value, list) or len(value) != 3 or not all(_is_positive(side) for side in value):
            return False
        return self._splits.takes(value[2]) and self._threads.takes(prod(value))

    def words(self) -> str:
        """The three numbers and their limits."""
        return f"[a, b, split] with a x b x split = {self._threads.words()}; split {self._splits.words()}"


class MatrixInstructionRule(ListRule):
    """Listed values, [M, N, K, B], or that with block, wave tiles and waves behind it: nine numbers.

    Args:
        listed: what stands for no matrix instruction.
        short: instructions that may stand alone.
        long: instructions that may have five numbers behind them; the first of them is a power of two up to B.
        wave_tiles: how many instructions a wave executes along M and along N.
        waves: how many waves a work-group has along M and along N.
    """

    def __init__(
        self,
        listed: Sequence[list[int]],
        short: Sequence[list[int]],
        long: Sequence[list[int]],
        wave_tiles: NumberRange,
        waves: Sequence[int],
    ) -> None:
        self._listed = listed
        self._short = short
        self._long = long
        self._wave_tiles = ListedRule([], [wave_tiles])
        self._waves = ListedRule(waves)

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is listed or one of the two forms."""
        if not isinstance(value, list) or value in self._listed or value in self._short:
            return isinstance(value, list)
        if len(value) != 9 or value[:4] not in self._long:
            return False
        return all(rule.takes(part) for rule, part in zip(self._behind(value[3]), value[4:], strict=True))

    def _behind(self, blocks: int) -> list[ListedRule]:
        """The rules of the five numbers behind an instruction with so many blocks."""
        powers = [2**power for power in range(int(blocks).bit_length())]
        return [ListedRule(powers), self._wave_tiles, self._wave_tiles, self._waves, self._waves]

    def _neighbour(self, value: list[int]) -> list[int]:
        known = self._long if len(value) == 9 else self._short
        instruction = min(known, key=lambda one: sum(abs(a - b) for a, b in zip(one, value, strict=False)))
        rules = self._behind(instruction[3])
        return [*instruction, *(int(rule.nearest(part)) for rule, part in zip(rules, value[4:], strict=False))]

    def words(self) -> str:
        """Both forms and their limits."""
        instructions = ", ".join(value_text(one) for one in sorted(self._long, reverse=True))
        return (
            "[] for none, [M, N, K, B] or [M, N, K, B, MIBlockM, WaveTileM, WaveTileN, WaveM, WaveN] with "
            f"[M, N, K, B] of {instructions}; MIBlockM a power of 2 up to B; wave tiles {self._wave_tiles.words()}; "
            f"waves {self._waves.words()}"
        )


class LevelRule(ListRule):
    """At most so many numbers of a range, or at most so many lists of `width` such numbers."""

    def __init__(self, at_most: int, numbers: NumberRange, width: int | None) -> None:
        self._at_most = at_most
        self._numbers = numbers
        self._width = width

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is such a list."""
        if not isinstance(value, list) or len(value) > self._at_most:
            return False
        return all(map(self._takes_level, value))

    def _takes_level(self, level: object) -> bool:
        if self._width is None:
            return isinstance(level, int | float) and self._numbers.takes(level)
        return isinstance(level, list) and len(level) == self._width and all(map(self._numbers.takes, level))

    def words(self) -> str:
        """As in "a list of at most 3, each 0 to 5"."""
        what = f"each {self._numbers.words()}"
        if self._width is not None:
            what = f"each a list of {self._width} numbers, {self._numbers.words()}"
        return f"a list of at most {self._at_most}, {what}"


def _is_positive(side: object) -> bool:
    return isinstance(side, int | float) and side > 0
