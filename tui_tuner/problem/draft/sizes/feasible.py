"""Sizes at which there is something to do: every extent and every count of blocks is one at least, none too large."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping

from tui_tuner.problem.draft.arithmetic.worked_out import value_in, words_in
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.guesses import AXES

_MOST_DOUBLED = 2**16
"""A size that is divided, where nobody says it; what a macro of a build is, as the threads of a block."""
_MOST_BLOCKS = 65535
"""Blocks along y and z, on every device."""


def value_of(text: str, sizes: Mapping[str, int]) -> float:
    """What an expression comes to, also where that is more than a whole number can be; 1 where it has no value."""
    value = value_in(text, sizes)
    if value is None:
        value = value_in(text, {name: float(size) for name, size in sizes.items()})
    return 1.0 if value is None else float(value)


def make_room(launch: DraftedLaunch, sizes: dict[str, int], like: Mapping[str, int] | None = None) -> None:
    """Halve what is taken away, or divided by, where it leaves an extent, a block or a scalar nothing.

    What the host has no number for comes first; where nothing can be halved, what is divided is doubled, else sizes are
    those of others.

    Args:
        like: sizes that leave room; none where there are no others.
    """
    extents = [*_counts(launch)]
    parts = [one for one in launch.values.values() if isinstance(one, str) and re.search(r"//| - ", one)]
    for text in [*extents, *parts]:
        if (smaller := _with_room(text, launch, sizes)) is not None:
            sizes |= smaller
        elif like and text in extents:
            sizes |= {name: like[name] for name in words_in(text) & sizes.keys()}


def _with_room(text: str, launch: DraftedLaunch, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """The sizes at which an expression is one at least; None where those from outside cannot do that."""
    found, lessening = dict(sizes), _lessening(text)
    while value_of(text, found | launch.defaults) < 1:
        of_outside = [name for name in found if launch.sizes.get(name) is None]
        able = [name for name in of_outside if name in lessening and found[name] >= 2]
        divided = [name for name in of_outside if name in words_in(text) - lessening and found[name] < _MOST_DOUBLED]
        if not able and ("//" not in text or not divided):
            return None
        if able:
            found[max(able, key=lambda name: (found[name], name))] //= 2
        else:
            found[min(divided, key=lambda name: (found[name], name))] *= 2
    return found


def keep_in_grid(launch: DraftedLaunch, sizes: dict[str, int]) -> None:
    """Halve the largest of the sizes from outside that more blocks along y or z are made of than a grid has."""
    for axis, text in list(zip(AXES, launch.problem_size, strict=False))[1:]:
        by = 1.0
        for divisor in launch.keys.get(f"grid_div_{axis}", [f"block_size_{axis}"]):
            by *= max(1.0, value_of(divisor, sizes | launch.defaults))
        while value_of(text, sizes) / by > _MOST_BLOCKS:
            named = words_in(text) & sizes.keys()
            able = [name for name in named if launch.sizes.get(name) is None and sizes[name] > 1]
            if not able:
                break
            sizes[max(able, key=lambda name: (sizes[name], name))] //= 2


def keep_in_block(launch: DraftedLaunch, sizes: dict[str, int]) -> None:
    """Halve the largest of the sizes from outside that a block is made of while it has more threads than it may."""
    extents = launch.keys.get("block_size", ())
    able = {name for text in extents for name in words_in(text) & sizes.keys() if launch.sizes.get(name) is None}
    while math.prod(value_of(text, sizes | launch.defaults) for text in extents) > launch.most_threads:
        largest = max(able, key=lambda name: (sizes[name], name), default=None)
        if largest is None or sizes[largest] == 1:
            break
        sizes[largest] //= 2


def _counts(launch: DraftedLaunch) -> Iterator[str]:
    """What a problem file has that is to be one at least."""
    yield from launch.problem_size
    for key, texts in launch.keys.items():
        if key.startswith("grid_div"):
            yield from texts
    yield from launch.shapes.values()


def _lessening(text: str) -> set[str]:
    """The names in an expression that make it less the larger they are."""
    found = set[str]()

    def walk(node: ast.expr, is_less: bool) -> None:
        match node:
            case ast.BinOp(left=left, op=ast.Sub() | ast.FloorDiv() | ast.Div(), right=right):
                walk(left, is_less)
                walk(right, not is_less)
            case ast.Name(id=name) if is_less:
                found.add(name)
            case ast.IfExp(body=body, orelse=other):
                walk(body, is_less)
                walk(other, is_less)
            case ast.Call(func=ast.Name(id="ceil_div"), args=[above, below]):
                walk(above, is_less)
                walk(below, not is_less)
            case ast.BinOp() | ast.UnaryOp() | ast.Call():
                for one in ast.iter_child_nodes(node):
                    if isinstance(one, ast.expr):
                        walk(one, is_less)

    walk(ast.parse(text, mode="eval").body, is_less=False)
    return found
