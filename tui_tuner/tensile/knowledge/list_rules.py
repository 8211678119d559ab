"""What a parameter may be, where its values are lists of numbers: tiles, work-groups, matrix instructions, levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod

from tui_tuner.tensile.knowledge.rules import Listed, NumberRange
from tui_tuner.tensile.values import ParameterValue, value_text


class ListRule(ABC):
    """What rules of lists share: a list is written as it is, and its neighbour has the same length."""

    @abstractmethod
    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is valid."""

    def near(self, value: ParameterValue) -> list[ParameterValue]:
        """The list with each number replaced by the nearest valid one, where that makes a valid list."""
        if not isinstance(value, list) or not all(isinstance(one, int) for one in value):
            return []
        neighbour = self._neighbour(value)
        return [neighbour] if self.takes(neighbour) else []

    def _neighbour(self, value: list[int]) -> list[int]:
        return value

    def written(self, value: ParameterValue) -> ParameterValue:
        """The value itself."""
        return value


class Pairs(ListRule):
    """Two numbers, each one of `sides`; their product at most `area` where that is given."""

    def __init__(self, sides: Listed, area: int | None = None) -> None:
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


class WorkGroups(ListRule):
    """Two sides and a split of the sum over K; their product, the threads, is one of `threads`."""

    def __init__(self, threads: NumberRange, splits: Sequence[int]) -> None:
        self._threads = threads
        self._splits = Listed(splits)

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is such a work-group."""
        if not isinstance(value, list) or len(value) != 3 or not all(_is_positive(side) for side in value):
            return False
        return self._splits.takes(value[2]) and self._threads.takes(prod(value))

    def words(self) -> str:
        """The three numbers and their limits."""
        return f"[a, b, split] with a x b x split = {self._threads.words()}; split {self._splits.words()}"


class MatrixInstructions(ListRule):
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
        self._wave_tiles = Listed([], [wave_tiles])
        self._waves = Listed(waves)

    def takes(self, value: ParameterValue) -> bool:
        """Whether the value is listed or one of the two forms."""
        if not isinstance(value, list) or value in self._listed or value in self._short:
            return isinstance(value, list)
        if len(value) != 9 or value[:4] not in self._long:
            return False
        return all(rule.takes(part) for rule, part in zip(self._behind(value[3]), value[4:], strict=True))

    def _behind(self, blocks: int) -> list[Listed]:
        """The rules of the five numbers behind an instruction with so many blocks."""
        powers = [2**power for power in range(int(blocks).bit_length())]
        return [Listed(powers), self._wave_tiles, self._wave_tiles, self._waves, self._waves]

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


class Levels(ListRule):
    """At most so many numbers of a range, or at most so many lists of `width` such numbers."""

    def __init__(self, at_most: int, numbers: NumberRange, width: int | None = None) -> None:
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
