"""How many rows, or elements, a block has for which the host writes a number, as the kernel makes them of the block."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.guesses import AXES

_WARP = 32
_IN_WARPS = r"(?:/\s*(?:32\b|\w*warp_?size\b)|>>\s*5\b)"


def or_named(pattern: str, body: str) -> str:
    """A pattern, or a name that is set to what it finds and to nothing else."""
    names = re.findall(rf"\b(\w+)\s*=\s*{pattern}\s*[;,]", body)
    only = [one for one in names if len(re.findall(rf"\b{one}\s*[-+*/]?=(?!=)", body)) == 1]
    same = [rf"(?<![.\w]){one}\b" for one in only]
    return f"(?:{'|'.join([pattern, *same])})"


def rows_of_block(index: int, number: int, extents: Sequence[int | None], body: str) -> str | None:
    """The host's number of rows in a block, as C makes it of `block_size_x` and the like; None where none says so.

    As `block_size_y` for 8 of a block of 32 by 8 whose kernel has `blockIdx.x * blockDim.y + threadIdx.y`, as
    `block_size_x / 32` for 8 of a block of 256 whose warps have a row each, and as `block_size_x * 4` for 256 of a
    block of 64 whose threads begin at four times their number.

    Args:
        index: of the grid's axis that has as many blocks.
        extents: of the block, along each axis, as the host has them; None where it is no number.
    """
    body = without_number_casts(body)
    block = or_named(rf"\bblockIdx\s*\.\s*{AXES[index]}\b", body)
    for axis, extent in zip(AXES, extents, strict=False):
        of_block = rf"\bblockDim\s*\.\s*{axis}\b"
        if extent == number and _is_product(block, or_named(of_block, body), body):
            return f"block_size_{axis}"
    is_alone = all(extent == 1 for extent in extents[1:])
    if is_alone and extents[0] == _WARP * number and (_has_a_warp_each(block, body) or _goes_by_warps(block, body)):
        return f"block_size_x / {_WARP}"
    each, rest = divmod(number, extents[0] or number + 1)
    if is_alone and each > 1 and rest == 0 and re.search(_times(_numbered_through(block, body), each), body):
        return f"block_size_x * {each}"
    return None


def _is_product(block: str, factor: str, body: str) -> bool:
    return re.search(rf"{block}\s*\*\s*\(?\s*{factor}|{factor}\s*\)?\s*\*\s*{block}", body) is not None


def _has_a_warp_each(block: str, body: str) -> bool:
    """Whether the block's number is multiplied by how many warps a block has, as in `blockIdx.x * (BLOCK / 32)`."""
    warps = or_named(rf"\(?\s*(?:\bblockDim\s*\.\s*x|[A-Za-z_]\w*)\s*(?i:{_IN_WARPS})\s*\)?", body)
    return _is_product(block, warps, body)


def _goes_by_warps(block: str, body: str) -> bool:
    """Whether threads are numbered through all blocks, and then by warps, as in `int row = thread / 32`."""
    return re.search(rf"{_numbered_through(block, body)}\s*(?i:{_IN_WARPS})", body) is not None


def _numbered_through(block: str, body: str) -> str:
    """The pattern of a thread's number through all blocks, also by a name."""
    own, of_block = or_named(r"\bthreadIdx\s*\.\s*x\b", body), or_named(r"\bblockDim\s*\.\s*x\b", body)
    begin = rf"(?:{block}\s*\*\s*{of_block}|{of_block}\s*\*\s*{block})"
    return or_named(rf"\(?\s*(?:{begin}\s*\+\s*{own}|{own}\s*\+\s*{begin})\s*\)?", body)


def _times(pattern: str, each: int) -> str:
    return rf"{pattern}\s*\*\s*{each}\b|\b{each}\s*\*\s*{pattern}"
