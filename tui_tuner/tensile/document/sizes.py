"""The problem sizes of a size group: `Exact` and `Range` as Tensile expands them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

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
        count: of all.
    """

    listed: tuple[Size, ...] = ()
    count: int = 0


def problem_sizes(entries: Any) -> ProblemSizes:  # noqa: ANN401  # whatever the file says
    """Sizes of a list of one-key maps `Exact`, `Range` and `MinStride`: ranges first, as Tensile has them.

    Raises:
        SizeFault: an entry is none of these.
    """
    if entries in (None, ""):
        return ProblemSizes()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SizeFault("ProblemSizes must be a list of Exact and Range")
    ranges: list[Size] = []
    exacts: list[Size] = []
    count = 0
    for kind, value in (pair for entry in entries for pair in entry.items()):
        if kind == "Exact":
            exacts.append(_exact(value))
        elif kind == "Range":
            axes = _axes(value)
            count += _count(axes)
            ranges += _expanded(axes)[: ENUMERATED - len(ranges)]
        elif kind != "MinStride":
            raise SizeFault(f"there is no kind of problem size '{kind}': use Exact or Range")
    return ProblemSizes((*ranges, *exacts), count + len(exacts))


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
