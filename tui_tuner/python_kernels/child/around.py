"""What can be tuned of a launch in Triton without a list of configurations: warps, stages, blocks with their grid.

A grid of numbers says nothing about blocks, but mostly an axis is an extent of the arguments, or one divided by one
block and rounded up. What is read from that is a guess, which the check of each configuration finds out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from tui_tuner.problem.triton import OPTIONS as NAMES
from tui_tuner.problem.triton import is_stride

Grid = Callable[[dict[str, object]], Sequence[int]] | Sequence[int]
OPTIONS: Mapping[str, object] = dict(zip(NAMES, (4, 3, 1, None), strict=True))
"""What every launch takes; the last two are tunables only where a list says something about them."""
ALWAYS = ("num_warps", "num_stages")
_TRIED: Mapping[str, Sequence[object]] = {"num_warps": (1, 2, 4, 8, 16), "num_stages": (1, 2, 3, 4, 5)}
_LARGER = 4
"""So many times as large as in the launch a block may be."""
_BLOCK = re.compile(r"(?i)^(?:block|tile|group)|(?:_block|_tile)(?:_size)?$|^b[a-z]$")
"""Names of extents that a kernel works through whatever they are; of others those are tuned that the grid follows."""


@dataclass(frozen=True)
class Space:
    """What is tuned.

    Attributes:
        listed: options of launches, the default ones first.
        columns: the values of each option.
    """

    listed: Sequence[Mapping[str, object]]
    columns: Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Around:
    """What lies around a launch.

    Attributes:
        grid: of any configuration.
        notes: what is taken for granted, a line each.
        restrictions: what each configuration must satisfy.
    """

    space: Space
    grid: Grid
    notes: Sequence[str]
    restrictions: Sequence[str]


def around(given: Mapping[str, object], constexprs: Sequence[str], grid: Grid, extents: Collection[int] = ()) -> Around:
    """The space around a launch.

    Args:
        given: the kernel's arguments and the options of the launch, those that heuristics choose included.
        constexprs: the arguments that are known at compile time.
        grid: as the launch has it.
        extents: of the tensors, and how many elements these have.
    """
    asked = Asked({**OPTIONS, **given})
    axes = None if callable(grid) else [*grid]
    if callable(grid):
        grid(asked)
    blocks = {name: extent for name in constexprs if (extent := _extent(given.get(name))) > 1}
    blocks = {name: extent for name, extent in blocks.items() if name in asked.names or _BLOCK.search(name)}
    others = [name for name in given if name not in blocks and name not in OPTIONS and not is_stride(name)]
    sizes = {name: size for name in others if (size := _whole(given[name])) > 1}
    known = {*extents, *sizes.values()}
    follows = [_followed(axis, known, blocks) for axis in axes or ()]
    named = asked.names | {name for name, _ in filter(None, follows)}
    covers = {name: covered for name in blocks.keys() - named if (covered := _covered(blocks[name], sizes))}
    default = {name: asked.get(name) for name in ALWAYS} | blocks
    columns: dict[str, Sequence[object]] = {name: _with(default[name], _TRIED[name]) for name in ALWAYS}
    for name, extent in blocks.items():
        parts = (4, 2, 1) if name in covers else (16, 8, 4, 2, 1)
        columns[name] = [extent * _LARGER // part for part in parts if extent * _LARGER >= part]
    notes = [*_said_of_grid(axes or (), follows, known, blocks), *_said_of_covers(covers)]
    return Around(Space([default], columns), _following(grid, follows), notes, [*_limits(blocks, default["num_warps"])])


_A_WARP = 16384
"""Elements of a tile for each warp up to which it is tried: 512 a thread, which has at most 255 registers. Beyond, a
compiler takes minutes for what is slow."""


def _limits(blocks: Mapping[str, int], warps: object) -> Iterator[str]:
    """That no block, and no tile of two of them, is too large for its warps; as large as in the launch it may be."""
    sides = [name for name in blocks if not name.lower().startswith("group")]
    for name in sides:
        yield from _limit([name], blocks, max(_A_WARP, -(-blocks[name] // (_whole(warps) or 1))))
    for pair in combinations(sides, 2):
        if prod(blocks[name] for name in pair) <= _A_WARP * _whole(warps):
            yield from _limit(pair, blocks, _A_WARP)


def _limit(sides: Sequence[str], blocks: Mapping[str, int], most: int) -> Iterator[str]:
    """An expression, where the largest blocks that are tried would break it."""
    if prod(_LARGER * blocks[name] for name in sides) > most:
        yield f"{' * '.join(sides)} <= {most} * num_warps"


_LESS, _LEAST = 37, 128


def odd_sizes(named: Mapping[str, object], extents: Collection[int]) -> Mapping[str, int]:
    """The arguments that are sizes, 37 less: nothing divides them then.

    Args:
        named: the arguments that may be sizes, by name; those that are called as strides are none.
        extents: of the tensors, and how many elements these have; a smaller one than 128 stays.
    """
    sizes = {name: _whole(value) for name, value in named.items() if not is_stride(name)}
    return {name: size - _LESS for name, size in sizes.items() if size > _LEAST and size in extents}


def divided_otherwise(space: Space) -> Mapping[str, object] | None:
    """Options with other blocks than the default ones: those listed that differ most, or each the nearest other one.

    None where there are no other blocks.
    """
    first, *others = space.listed
    if not others:
        others = [{name: _nearest(first.get(name), values) for name, values in space.columns.items()}]

    def differing(options: Mapping[str, object]) -> int:
        return sum(options.get(name) != value for name, value in first.items() if name not in OPTIONS)

    chosen = max(others, key=differing)
    return {**first, **chosen} if differing(chosen) else None


def _nearest(value: object, values: Sequence[object]) -> object:
    """Another whole number of a column, the nearest; the value itself where there is none."""
    others = [one for one in values if type(one) is int and one > 0 and one != value]
    if type(value) is not int or value < 1 or not others:
        return value
    return min(others, key=lambda one: max(one, value) / min(one, value))


def _followed(axis: object, sizes: Collection[int], blocks: Mapping[str, int]) -> tuple[str, int] | None:
    """The one block, and the largest size, that make an axis of the grid; None where that is a size, or not told."""
    if axis == 1 or axis in sizes:
        return None
    found = {
        name: max(made)
        for name, extent in blocks.items()
        if (made := [size for size in sizes if -(-size // extent) == axis])
    }
    return found.popitem() if len(found) == 1 else None


def _following(grid: Grid, follows: Sequence[tuple[str, int] | None]) -> Grid:
    if callable(grid) or not any(follows):
        return grid

    def followed(meta: Mapping[str, object]) -> Sequence[int]:
        each = zip(grid, follows, strict=True)
        return [axis if found is None else -(-found[1] // _whole(meta[found[0]])) for axis, found in each]

    return followed


def _said_of_grid(
    axes: Sequence[object],
    follows: Sequence[tuple[str, int] | None],
    sizes: Collection[int],
    blocks: Mapping[str, int],
) -> list[str]:
    written = [
        str(axis) if one is None else f"cdiv({one[1]}, {one[0]})" for axis, one in zip(axes, follows, strict=True)
    ]
    if any(follows):
        return [f"grid        ({', '.join(written)}), as its numbers seem to be made"]
    if blocks and any(axis != 1 and axis not in sizes for axis in axes):
        return [
            f"grid        stays ({', '.join(written)}): a block that it was made from gives wrong results when it is "
            "another; for it to follow launch with a function, as `lambda meta: (triton.cdiv(n, meta['BLOCK']),)`"
        ]
    return []


def _said_of_covers(covers: Mapping[str, str]) -> list[str]:
    each = ", ".join(f"{block} ({size})" for block, size in sorted(covers.items()))
    return [f"blocks      not smaller than what they cover: {each}"] if covers else []


def _covered(extent: int, sizes: Mapping[str, int]) -> str:
    """The size that a block is the next power of two of; empty where there is none."""
    return next((name for name, size in sizes.items() if size <= extent < 2 * size), "")


def _extent(value: object) -> int:
    """A power of two; 0 for anything else."""
    whole = _whole(value)
    return whole if whole > 0 and whole.bit_count() == 1 else 0


def _whole(value: object) -> int:
    return value if type(value) is int else 0


class Asked(dict[str, object]):
    """Notes what it is asked for."""

    def __init__(self, content: Mapping[str, object]) -> None:
        super().__init__(content)
        self.names = set[str]()

    def __getitem__(self, name: str) -> object:
        self.names.add(name)
        return super().__getitem__(name)


def _with(value: object, usual: Sequence[object]) -> list[object]:
    return [*usual] if value in usual else [value, *usual]
