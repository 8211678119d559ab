"""A configuration as the program knows it: size groups, forked parameters, permutations; and what is asked of a table.

The rules are those of Tensile's `BenchmarkProcess` and `constructForkPermutations`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Protocol

from tui_tuner.tensile.document.sizes import ProblemSizes
from tui_tuner.tensile.words import ParameterValue, same

Alternative = Mapping[str, ParameterValue]
"""Parameters that a group sets together."""


class ParameterTable(Protocol):
    """What Tensile takes, see `tui_tuner.tensile.knowledge.valid_values`."""

    def fault(self, parameter: str, value: ParameterValue) -> str | None:
        """Why it would not take a value; None if it would."""
        ...

    def default(self, parameter: str) -> ParameterValue | None:
        """What it takes where the file says nothing."""
        ...

    def is_unchecked(self, parameter: str) -> bool:
        """Whether it takes anything."""
        ...

    def written(self, parameter: str, value: ParameterValue) -> ParameterValue:
        """A valid value with the type that it has: `True` or 1, 1 or 1.0."""
        ...


@dataclass(frozen=True)
class SizeGroup:
    """One `BenchmarkProblemSizeGroup` with the problem type it belongs to.

    Attributes:
        number: in the file, from 0, over all problems.
        problem: number of its problem.
        place: number among the size groups of its problem; `_NN` in the names of results.
        problem_type: as the file has it.
        parameters: values of each parameter that the file names, in its order; the last one wins where it stands twice.
        groups: the alternatives of each entry of `Groups`.
        line: where it begins in the file.
    """

    number: int
    problem: int
    place: int
    problem_type: Mapping[str, Any]
    parameters: Mapping[str, tuple[ParameterValue, ...]]
    groups: tuple[tuple[Alternative, ...], ...] = ()
    sizes: ProblemSizes = field(default_factory=ProblemSizes)
    arguments: int = 1
    custom_kernels: int = 0
    line: int = 1

    @cached_property
    def forked(self) -> dict[str, tuple[ParameterValue, ...]]:
        """Parameters with several values."""
        return {name: values for name, values in self.parameters.items() if len(values) > 1}

    @cached_property
    def constants(self) -> dict[str, ParameterValue]:
        """Parameters with one value. Those with none vanish, their defaults too."""
        return {name: values[0] for name, values in self.parameters.items() if len(values) == 1}

    @property
    def permutations(self) -> int:
        """Kernels that Tensile forms: the product of values and of alternatives, duplicates included."""
        return prod(map(len, self.forked.values())) * prod(map(len, self.groups))

    @property
    def runs(self) -> int:
        """Kernels times problem sizes times what else is gone through: bias, activation and the like."""
        return self.permutations * self.sizes.count * self.arguments

    @cached_property
    def grouped(self) -> frozenset[str]:
        """Parameters that alternatives of groups set."""
        return frozenset(name for group in self.groups for alternative in group for name in alternative)

    def group_of(self, parameter: str) -> int | None:
        """The group whose alternatives set a parameter."""
        for number, group in enumerate(self.groups):
            if any(parameter in alternative for alternative in group):
                return number
        return None

    def values_of(self, parameter: str) -> list[ParameterValue]:
        """Every value that a permutation can have of a parameter; none where the file does not name it."""
        group = self.group_of(parameter)
        if group is None:
            return list(self.parameters.get(parameter, ()))
        found = [alternative[parameter] for alternative in self.groups[group] if parameter in alternative]
        if any(parameter not in alternative for alternative in self.groups[group]):
            found += self.parameters.get(parameter, ())
        return distinct(found)

    @property
    def varied(self) -> list[str]:
        """The parameters that make permutations differ, in the order of the file."""
        return [*self.forked, *(name for name in sorted(self.grouped) if name not in self.forked)]


@dataclass(frozen=True)
class BenchmarkConfiguration:
    """A benchmark configuration.

    Attributes:
        text: the file as it is.
        alternate: whether it is in the alternate format, with its sizes in a file of their own.
        size_groups: all of them, in the file's order.
        global_parameters: as the file has them.
    """

    file: Path
    text: str
    alternate: bool
    size_groups: tuple[SizeGroup, ...]
    global_parameters: Mapping[str, Any]

    @property
    def permutations(self) -> int:
        """Kernels of all size groups."""
        return sum(group.permutations for group in self.size_groups)

    @property
    def sizes(self) -> int:
        """Problem sizes of all size groups."""
        return sum(group.sizes.count for group in self.size_groups)

    @property
    def runs(self) -> int:
        """Kernels times their sizes: what the benchmark has to time."""
        return sum(group.runs for group in self.size_groups)

    @property
    def named_parameters(self) -> set[str]:
        """All that the file sets or forks."""
        return {name for group in self.size_groups for name in (*group.parameters, *group.grouped)}


def distinct(values: list[ParameterValue]) -> list[ParameterValue]:
    """The values, each once, in their order."""
    found: list[ParameterValue] = []
    for value in values:
        if not any(same(value, other) for other in found):
            found.append(value)
    return found
