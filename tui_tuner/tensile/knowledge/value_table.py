"""The form of `valid_values/*.toml`: one table of valid values, each parameter with exactly one rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field, model_validator

from tui_tuner.tensile.knowledge.list_rules import Levels, MatrixInstructions, Pairs, WorkGroups
from tui_tuner.tensile.knowledge.rules import Anything, Listed, NumberRange, Rule
from tui_tuner.tensile.knowledge.toml_data import Table
from tui_tuner.tensile.values import ParameterValue

RangeData = Annotated[list[int] | list[float], Field(min_length=3, max_length=3)]
"""[low, high, step], both ends included."""


class PairData(Table):
    """Two numbers, each of `values` and `ranges`, their product at most `area`."""

    values: tuple[int, ...] = ()
    ranges: tuple[RangeData, ...] = ()
    area: int | None = None


class WorkGroupData(Table):
    """[a, b, split]: the product is one of `threads`, the split one of `splits`."""

    threads: RangeData
    splits: list[int]


class MatrixInstructionData(Table):
    """Families of [M, N, K, B] by name; `short` and `long` name those that each form may be of."""

    families: dict[str, list[list[int]]]
    short: list[str]
    long: list[str]
    listed: list[list[int]]
    wave_tiles: RangeData
    waves: list[int]

    @model_validator(mode="after")
    def _families_are_there(self) -> MatrixInstructionData:
        missing = sorted({*self.short, *self.long} - self.families.keys())
        if missing:
            raise ValueError(f"there is no family {missing[0]}")
        return self

    def instructions(self, names: list[str]) -> list[list[int]]:
        """The instructions of some families, each once."""
        found: list[list[int]] = []
        for name in names:
            found += [one for one in self.families[name] if one not in found]
        return found


class LevelData(Table):
    """A list of `at_most` numbers of `range`; with `width` a list of lists of that many."""

    at_most: int
    range: RangeData
    width: int | None = None


class Parameter(Table):
    """One parameter: its rule, its default, and values that only older states of Tensile take.

    Attributes:
        any: Tensile does not check the value.
        default: not given where Tensile gives none.
    """

    values: tuple[ParameterValue, ...] = ()
    ranges: tuple[RangeData, ...] = ()
    any: bool = False
    pair: PairData | None = None
    work_group: WorkGroupData | None = None
    matrix_instruction: MatrixInstructionData | None = None
    levels: LevelData | None = None
    default: ParameterValue | list[list[int]] | dict[str, int] | None = None
    former: tuple[ParameterValue, ...] = ()

    @model_validator(mode="after")
    def _one_rule(self) -> Parameter:
        given = [bool(self.values or self.ranges), self.any]
        given += [one is not None for one in (self.pair, self.work_group, self.matrix_instruction, self.levels)]
        if sum(given) != 1:
            kinds = "values and ranges, any, pair, work_group, matrix_instruction, levels"
            raise ValueError(f"exactly one of these says what is valid: {kinds}")
        return self

    @cached_property
    def rule(self) -> Rule:
        """The rule that decides."""
        if self.pair is not None:
            return Pairs(_listed(self.pair.values, self.pair.ranges), self.pair.area)
        if self.work_group is not None:
            return WorkGroups(NumberRange(*self.work_group.threads), self.work_group.splits)
        if (data := self.matrix_instruction) is not None:
            short, long = data.instructions(data.short), data.instructions(data.long)
            return MatrixInstructions(data.listed, short, long, NumberRange(*data.wave_tiles), data.waves)
        if self.levels is not None:
            return Levels(self.levels.at_most, NumberRange(*self.levels.range), self.levels.width)
        return Anything() if self.any else _listed(self.values, self.ranges)

    @property
    def has_default(self) -> bool:
        """Whether Tensile sets it where a configuration does not."""
        return "default" in self.model_fields_set


class ValueTable(Table):
    """A file of valid values.

    Attributes:
        name: the Tensile that it is of; a user's file of the same name adds to it and replaces single parameters.
        source: repository, path and commit.
        parameters: by name, those that the state read has.
        former: by name, parameters that only older states have.
        other_keys: by name, keys that are no parameter of a solution, and what Tensile does with them.
    """

    name: str
    source: str = "a user's file"
    parameters: Mapping[str, Parameter] = {}
    former: Mapping[str, Parameter] = {}
    other_keys: Mapping[str, str] = {}


def _listed(values: Sequence[ParameterValue], ranges: Sequence[RangeData]) -> Listed:
    return Listed(values, [NumberRange(*one) for one in ranges])
