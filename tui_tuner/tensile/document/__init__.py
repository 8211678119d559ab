"""A benchmark configuration as a document: read, counted, judged and edited without losing a comment.

Here: what it says. The rules are those of Tensile's `BenchmarkProcess` and `constructForkPermutations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Protocol

PlainValue = bool | int | float | str | list[int]
"""A number, a switch, a word, or a list of numbers as in `MatrixInstruction: [16, 16, 16, 1, 1, 2, 2, 2, 2]`."""
ParameterValue = PlainValue | list[Any] | dict[int, int]
"""Also what only a file sets: lists of lists, and maps from an index, as in `AssertSizeMultiple: {3: 32}`."""
ENUMERATED = 10_000
"""Sizes of ranges beyond so many are counted and not listed."""

Size = tuple[int, ...]


class SizeFault(ValueError):
    """A size that Tensile could not read; the message says why."""


@dataclass(frozen=True)
class ProblemSizes:
    """The sizes of a group.

    Attributes:
        listed: each as in `Exact`, leading dimensions aside; of very many the first ones.
        count: of all, convolutions too.
        convolutions: each as in `Conv`; their indices follow from the problem type.
    """

    listed: tuple[Size, ...] = ()
    count: int = 0
    convolutions: tuple[str, ...] = ()


def problem_sizes(entries: Any) -> ProblemSizes:  # noqa: ANN401  # whatever the file says
    """Sizes of a list of one-key maps `Exact`, `Range`, `Conv` and `MinStride`: ranges first, as Tensile has them.

    Raises:
        SizeFault: an entry is none of these.
    """
    if entries in (None, ""):
        return ProblemSizes()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SizeFault("ProblemSizes must be a list of Exact and Range")
    ranges: list[Size] = []
    exacts: list[Size] = []
    convolutions: list[str] = []
    count = 0
    for kind, value in (pair for entry in entries for pair in entry.items()):
        if kind == "Exact":
            exacts.append(_exact(value))
        elif kind == "Range":
            axes = _axes(value)
            count += _count(axes)
            ranges += _expanded(axes)[: ENUMERATED - len(ranges)]
        elif kind == "Conv":
            convolutions.append(_convolution(value))
        elif kind != "MinStride":
            raise SizeFault(f"there is no kind of problem size '{kind}': use Exact, Range or Conv")
    return ProblemSizes((*ranges, *exacts), count + len(exacts) + len(convolutions), tuple(convolutions))


def _convolution(value: Any) -> str:  # noqa: ANN401
    """A convolution on one line: letters with their sizes, `count` how often it occurs."""
    if not isinstance(value, dict) or not value or not all(_is_size(size) for size in value.values()):
        raise SizeFault(f"Conv must map letters to numbers, it is {str(value)[:60]}")
    return " ".join(f"{letter}{size}" for letter, size in value.items() if letter != "count")


def _exact(value: Any) -> Size:  # noqa: ANN401
    sizes = value.get("sizes") if isinstance(value, dict) else value
    if not isinstance(sizes, list) or not sizes or not all(_is_size(size) for size in sizes):
        raise SizeFault(f"Exact must be a list of numbers, it is {str(value)[:60]}")
    return tuple(sizes)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _axes(value: Any) -> list[list[int] | int]:  # noqa: ANN401
    """Each index as its sizes, or as the number of the index whose size it takes."""
    if not isinstance(value, list):
        raise SizeFault(f"Range must be a list with an entry an index, it is {str(value)[:60]}")
    return [_axis(entry) for entry in value]


def _axis(entry: Any) -> list[int] | int:  # noqa: ANN401
    if _is_size(entry):
        return int(entry)
    if not isinstance(entry, list) or not 1 <= len(entry) <= 4 or not all(_is_size(part) for part in entry):
        raise SizeFault(f"an index of a Range must be a number or a list of one to four, it is {str(entry)[:60]}")
    first, step, growth, last = _steps(entry)
    if step <= 0 and growth <= 0 and first < last:
        raise SizeFault(f"the Range {entry} never ends")
    sizes: list[int] = []
    while first <= last and len(sizes) < ENUMERATED:
        sizes.append(first)
        first, step = first + step, step + growth
        if step <= 0 and growth <= 0:
            break
    return sizes


def _steps(entry: Sequence[int]) -> tuple[int, int, int, int]:
    """Start, step, growth of the step, last: as Tensile reads one to four numbers."""
    match entry:
        case [only]:
            return only, 1, 0, only
        case [first, last]:
            return first, first, 0, last
        case [first, step, last]:
            return first, step, 0, last
        case _:
            return entry[0], entry[1], entry[2], entry[3]


def _count(axes: Sequence[list[int] | int]) -> int:
    count = 1
    for axis in axes:
        count *= len(axis) if isinstance(axis, list) else 1
    return count


def _expanded(axes: Sequence[list[int] | int]) -> list[Size]:
    """All sizes, the first index fastest."""
    sized = [axis for axis in axes if isinstance(axis, list)]
    if _count(axes) > ENUMERATED:
        return []
    return [_filled(axes, tuple(reversed(chosen))) for chosen in product(*reversed(sized))]


def _filled(axes: Sequence[list[int] | int], chosen: Sequence[int]) -> Size:
    size: list[int] = []
    values = iter(chosen)
    for axis in axes:
        size.append(next(values) if isinstance(axis, list) else size[axis] if axis < len(size) else 0)
    return tuple(size)


Alternative = Mapping[str, ParameterValue]
"""Parameters that a group sets together."""


class ParameterTable(Protocol):
    """What Tensile takes, see `tui_tuner.tensile.knowledge.valid_values`."""

    def fault(self, parameter: str, value: ParameterValue) -> str | None:
        """Why it would not take a value; None if it would."""

    def default(self, parameter: str) -> ParameterValue | None:
        """What a parameter takes where the file says nothing."""

    def is_unchecked(self, parameter: str) -> bool:
        """Whether Tensile takes any value of a parameter."""

    def written(self, parameter: str, value: ParameterValue) -> ParameterValue:
        """A valid value with the type that it has: `True` or 1, 1 or 1.0."""


@dataclass(frozen=True)
class SizeGroup:
    """One `BenchmarkProblemSizeGroup` with the problem type it belongs to.

    Attributes:
        number: in the file, from 0, over all problems.
        place: number among the size groups of its problem; `_NN` in the names of results.
        problem_type: as the file has it.
        parameters: values of each parameter that the file names, in its order; the last one wins where it stands twice.
        groups: the alternatives of each entry of `Groups`.
        line: where it begins in the file.
    """

    number: int
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


def distinct(values: Iterable[ParameterValue]) -> list[ParameterValue]:
    """The values, each once, in their order."""
    found: list[ParameterValue] = []
    for value in values:
        if not any(same(value, other) for other in found):
            found.append(value)
    return found


def same(one: ParameterValue, other: ParameterValue) -> bool:
    """Whether Tensile takes two values for the same: as in Python, `True` is 1 and 2.0 is 2."""
    return one == other


def value_text(value: ParameterValue) -> str:
    """A value as a configuration file has it, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{index}: {bound}' for index, bound in value.items())}}}"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and "e" in str(value):  # YAML reads 1e-05 as a word
        return f"{value:.20f}".rstrip("0")
    return str(value)
