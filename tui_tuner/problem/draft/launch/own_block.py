"""The block of a kernel that nobody launches, where its own text says it: macros by which it numbers its threads."""

from __future__ import annotations

import math
import re

from tui_tuner.problem.draft.drafted_launch import MOST_THREADS, DraftedLaunch
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.block_rows import or_named
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.device_words import is_warp
from tui_tuner.problem.draft.kernel.guesses import AXES, block_dimensions, extents_around
from tui_tuner.problem.signature import KernelSignature

_ASKS = re.compile(r"\bblockDim\b|\bget_local_size\b")
"""What a kernel says that other blocks suit, whatever its macros are."""


def own_block(signature: KernelSignature, program: HostProgram) -> DraftedLaunch | None:
    """What the text says of the block, as in `get_group_id(0) * TILE + get_local_id(0)` with `#define TILE 16`.

    Nothing where it does not say it for each axis, or where threads go through a tile by other steps.

    Args:
        program: the kernel's file.
    """
    body = without_number_casts(signature.body)
    if _ASKS.search(program.without_macros(body)) or signature.work_group is not None:
        return None
    made = [_numbered_by(axis, index, body) for index, axis in enumerate(AXES[: block_dimensions(signature)])]
    place, words = len(program.code), frozenset(re.findall(r"\w+", body))
    numbers = {name: program.number(name, place) or 0 for name in made if name in program.own_numbers}
    is_block = all(number > 1 and not is_warp(name, number, words) for name, number in numbers.items())
    if {*made} != numbers.keys() or not is_block or any(_is_gone_through(name, body) for name in numbers):
        return None
    if math.prod(numbers[name] for name in made) > MOST_THREADS:
        return None
    tunables = {name: extents_around(number) for name, number in numbers.items()}
    return DraftedLaunch(line=0, keys={"block_size": [*made]}, tunables=tunables, defaults=numbers)


def _numbered_by(axis: str, index: int, body: str) -> str:
    """The only name by which the block's number is multiplied along an axis, where that makes the thread's of all.

    A kernel that asks for that too, by `get_global_id`, has as many threads in a block.
    """
    block = rf"(?:\bblockIdx\s*\.\s*{axis}\b|\bget_group_id\s*\(\s*{index}\s*\))"
    thread = rf"(?:\bthreadIdx\s*\.\s*{axis}\b|\bget_local_id\s*\(\s*{index}\s*\))"
    blocks, threads = (or_named(one, body) for one in (block, thread))
    product = rf"(?:{blocks}\s*\*\s*(?P<before>[A-Za-z_]\w*)|(?P<behind>[A-Za-z_]\w*)\s*\*\s*{blocks})"
    found = {one["before"] or one["behind"] for one in re.finditer(product, body)}
    if len(found) != 1:
        return ""
    [name] = found
    begin = or_named(rf"\(?\s*(?:{blocks}\s*\*\s*{name}|{name}\s*\*\s*{blocks})\s*\)?", body)
    sums = rf"{begin}\s*\+\s*{threads}|{threads}\s*\+\s*{begin}|\bget_global_id\s*\(\s*{index}\s*\)"
    return name if re.search(sums, body) else ""


def _is_gone_through(name: str, body: str) -> bool:
    """Whether a loop goes up to a macro by other steps than one, so that fewer threads may go through it."""
    steps = rf"\bfor\s*\([^;]*;[^;]*<\s*{name}\b[^;]*;[^)]*\+=\s*(?!{name}\b|1\b)\w"
    return re.search(steps, body) is not None
