"""What the threads of a launch and the elements of its arrays come to, of which sizes, and whether that is a toy's."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.host.memory import LIST
from tui_tuner.problem.draft.kernel.guesses import AXES, SMALL
from tui_tuner.problem.draft.kernel.offsets import arrays_of_offsets, divided_by
from tui_tuner.problem.draft.sizes.feasible import value_of
from tui_tuner.problem.signature import KernelSignature

LEAST_TIMED = 4096
"""A host's launch of fewer threads over fewer elements says nothing of the sizes that matter."""


def counted_in(launch: DraftedLaunch) -> set[str]:
    """The sizes that threads are made of."""
    return {*re.findall(r"[A-Za-z_]\w*", " ".join(launch.problem_size))}


def extents_in(launch: DraftedLaunch) -> frozenset[str]:
    """The sizes that arrays or threads are made of."""
    return frozenset(re.findall(r"\w+", " ".join([*launch.problem_size, *launch.shapes.values()])))


def threads_of(launch: DraftedLaunch, sizes: Mapping[str, int]) -> float:
    """The threads of a launch, as far as they are counted."""
    return math.prod(value_of(text, sizes) for text in launch.problem_size)


def elements_of(launch: DraftedLaunch, sizes: Mapping[str, int]) -> float:
    """The elements of all arrays."""
    counted = launch.shapes
    return sum(
        value_of(text, sizes) * value_of(counted.get(LIST.format(name), "1"), sizes) for name, text in counted.items()
    )


def degree(launch: DraftedLaunch, names: Collection[str], sizes: Mapping[str, int]) -> int:
    """With which power of these sizes the arrays grow, and the threads: 2 for a matrix, 1 for several vectors."""
    few, many = ({**sizes, **dict.fromkeys(names, size)} for size in (2**10, 2**11))
    texts = [*launch.shapes.values(), "*".join(f"({text})" for text in launch.problem_size)]
    growth = [value_of(text, many) / max(1.0, value_of(text, few)) for text in texts if text]
    found = max((round(math.log2(one)) for one in growth if one > 1), default=1)
    return max(found, 1 if launch.shapes else len(names))


def is_toy(launch: DraftedLaunch) -> bool:
    """Whether the host says all that a launch is made of, and that is too small to be timed."""
    if any(launch.sizes.get(name, 1) is None for name in extents_in(launch)):
        return False
    sizes = {name: number or 1 for name, number in launch.sizes.items()}
    return max([threads_of(launch, sizes), elements_of(launch, sizes), *sizes.values()]) < LEAST_TIMED


def sizes_of_toys(launch: DraftedLaunch, signature: KernelSignature) -> set[str]:
    """The host's sizes that others are taken for, where its launch is too small to be timed and says them all.

    Those are extents of some length, and shorter ones that blocks divide and arrays are made of, as n in `x[n]` with
    a thread for each; with these how many elements are divided among them. None are where an array would stay that is
    as large as the threads are many: with more of these it would be too small.
    """
    if launch.of_block or not is_toy(launch):
        return set()
    known = {name: number for name, number in launch.sizes.items() if number is not None}
    extents = extents_in(launch)
    sizes: Mapping[str, int] = {name: known.get(name, 1) for name in launch.sizes}
    whole = {name for name in extents & known.keys() if known[name] >= SMALL}
    short = _divided_by_blocks(launch) & known.keys()
    parts = {one for name in short for one in _divided_among(name, launch, signature)}
    larger = whole | short | parts & known.keys()
    staying = (one for one in launch.shapes.values() if larger.isdisjoint(re.findall(r"[A-Za-z_]\w*", one)))
    return set() if any(value_of(one, sizes) >= threads_of(launch, sizes) for one in staying) else larger


def _divided_by_blocks(launch: DraftedLaunch) -> set[str]:
    """The sizes that blocks divide along an axis, and that an array is made of."""
    axes = zip(AXES, launch.problem_size, strict=False)
    divided = " ".join(text for axis, text in axes if launch.keys.get(f"grid_div_{axis}") != ["1"])
    of_arrays = {*re.findall(r"[A-Za-z_]\w*", " ".join(launch.shapes.values()))}
    return counted_in(launch) & {*re.findall(r"[A-Za-z_]\w*", divided)} & of_arrays


def _divided_among(rows: str, launch: DraftedLaunch, signature: KernelSignature) -> set[str]:
    """How many elements offsets divide among so many rows."""
    offsets = [name for name in arrays_of_offsets(signature) if launch.shapes.get(name) == f"{rows} + 1"]
    return {launch.shapes.get(one, "") for name in offsets for one in divided_by(name, signature)}
