"""The numbers that a host writes into a launch, as sizes with the names that the kernel has for them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tui_tuner.problem.draft.arithmetic.worked_out import value_in, words_in
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.extents import elements_along
from tui_tuner.problem.draft.kernel.guesses import AXES, SMALL, is_counted_by, size_names
from tui_tuner.problem.draft.kernel.reach import reached_by
from tui_tuner.problem.languages import Value
from tui_tuner.problem.signature import KernelSignature


def with_named_numbers(launch: DraftedLaunch, signature: KernelSignature) -> DraftedLaunch:
    """A launch that passes numbers for extents, as `gemv<<<16, 256>>>(a, x, y, 4096, 2048)`, over sizes instead.

    Threads and arrays that are as many as the kernel's own text says of these sizes are expressions over them; else
    they stay the host's numbers.
    """
    named = dict(_numbers_of_extents(launch, signature))
    if not named or not launch.problem_size:
        return launch
    values = {**launch.values, **{name: name for name in named}}
    found = replace(launch, sizes={**launch.sizes, **named}, values=values)
    found = replace(found, keys={**found.keys, **dict(_keys(found, signature, found.sizes))})
    return _with_shapes(found, reached_by(signature, found), named)


def _with_shapes(launch: DraftedLaunch, reached: Mapping[str, str], named: Mapping[str, int]) -> DraftedLaunch:
    """The launch with the elements of its arrays over the sizes, without names for how much memory these take."""
    keys = [part for key in launch.keys.values() for part in ([key] if isinstance(key, str) else key)]
    asked = words_in(*map(str, launch.values.values()), *keys, *launch.local.values())
    of_memory = {
        name: number
        for name, number in launch.sizes.items()
        if number is not None and name in words_in(*launch.shapes.values()) - asked
    }
    shapes = {array: _shape(text, reached.get(array, ""), named, of_memory) for array, text in launch.shapes.items()}
    unused = of_memory.keys() - words_in(
        *shapes.values(), *(str(end) for ends in launch.drawn.values() for end in ends)
    )
    return replace(
        launch,
        shapes=shapes,
        sizes={name: size for name, size in launch.sizes.items() if name not in unused},
        multiples={name: by for name, by in launch.multiples.items() if name not in unused},
        stated={name: macro for name, macro in launch.stated.items() if name not in unused},
        powers=launch.powers - unused,
    )


def _numbers_of_extents(launch: DraftedLaunch, signature: KernelSignature) -> Iterator[tuple[str, int]]:
    for name in (one for one in size_names(signature) if one not in launch.fixed):
        value = launch.values.get(name)
        is_extent = is_counted_by(name, signature.body) or str(value) in launch.problem_size
        if isinstance(value, int) and value >= SMALL and is_extent and name not in launch.sizes:
            yield name, value


def _keys(
    launch: DraftedLaunch, signature: KernelSignature, sizes: Mapping[str, int | None]
) -> Iterator[tuple[str, list[str]]]:
    """The extents of the launch, and what a block takes along an axis where it is not what the host's number says."""
    extents = launch.problem_size
    fixed = {f"block_size_{axis}": text for axis, text in zip(AXES, launch.keys.get("block_size", ()), strict=False)}
    known = {**{name: value_in(text, launch.defaults) for name, text in fixed.items()}, **launch.defaults}
    for place, (axis, text, own) in enumerate(zip(AXES, extents, elements_along(signature), strict=False)):
        if not text.isdecimal():
            continue
        given = launch.keys.get(f"grid_div_{axis}", [f"block_size_{axis}"])
        blocks = _blocks(int(text), given, known)
        ways = [given, *(_extents_numbered_by(axis, signature) if given == ["1"] else ())]
        by = next((one for one in ways if blocks and _blocks(value_in(own, sizes), one, known) == blocks), None)
        extents[place] = own if by else _only_name(text, sizes)
        if by not in (None, given):
            yield f"grid_div_{axis}", list(by)
    yield "problem_size", extents


def _extents_numbered_by(axis: str, signature: KernelSignature) -> list[list[str]]:
    """The extent of a block by which the kernel numbers its threads on from one block to the next along an axis."""
    found = re.findall(rf"\bblockIdx\s*\.\s*{axis}\s*\*\s*blockDim\s*\.\s*([xyz])\b", signature.body)
    return [[f"block_size_{other}"] for other in dict.fromkeys(found)]


def _blocks(elements: Value | None, by: Sequence[str], known: Mapping[str, Value | None]) -> int | None:
    """How many blocks so many elements take; None where that is not known."""
    extents = [value_in(one, known) for one in by]
    if not isinstance(elements, int) or not all(isinstance(one, int) and one > 0 for one in extents):
        return None
    return math.ceil(elements / math.prod(one for one in extents if isinstance(one, int)))


def _shape(text: str, reached: str, named: Mapping[str, int], of_memory: Mapping[str, int]) -> str:
    """The elements of an array over the sizes, where those come to the host's number.

    Args:
        of_memory: names of the host's for numbers that say nothing but how much memory it takes.
    """
    elements = value_in(text, of_memory)
    if elements is None:
        return text
    if reached and value_in(reached, named) == elements:
        return reached
    products = {
        " * ".join(names): math.prod(named[name] for name in names)
        for count in (1, 2, 3)
        for names in combinations(named, count)
    }
    found = [names for names, product in products.items() if product == elements]
    return found[0] if len(found) == 1 else text


def _only_name(text: str, sizes: Mapping[str, int | None]) -> str:
    """The size of this number, where there is just one; else the number."""
    found = [name for name, number in sizes.items() if text == str(number)]
    return found[0] if len(found) == 1 else text
