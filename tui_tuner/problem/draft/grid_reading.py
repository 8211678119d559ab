"""What the grid of a launch comes to once its block is read: what is divided to give its blocks, and by what."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

from tui_tuner.problem.draft.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.folding import folded
from tui_tuner.problem.draft.guesses import AXES, is_numbered_through
from tui_tuner.problem.draft.host_dimensions import axes
from tui_tuner.problem.draft.launch_names import LaunchNames
from tui_tuner.problem.draft.worked_out import is_of_block, names, quotient, unrounded, without_factor

_COUNTS_GROUPS = re.compile(r"\bget_(?:group_id|num_groups|global_size)\b")
"""What an OpenCL kernel says that has to do with how many work-groups there are."""


def grid_axes(host: LaunchNames) -> list[tuple[ast.expr, ast.expr | None] | None]:
    """What is divided to give the blocks along each axis, and by what; None for an axis that cannot be read."""
    written, place = axes(host.program, host.launch.grid, host.launch.place)
    found: list[tuple[ast.expr, ast.expr | None] | None] = []
    for index, text in enumerate(written):
        try:
            above, below = _divided(host, text, place, index)
        except NotArithmetic:
            found.append(None)
            continue
        of_block = inner if (inner := quotient(above)) is not None and is_of_block(inner[1]) else None
        if of_block is not None and below is not None:  # a grid that is folded, as it would be too long
            return [of_block]
        found.append(of_block or (_in_threads(host, above, index) if below is None else (above, below)))
    return found


def _in_threads(host: LaunchNames, blocks: ast.expr, index: int) -> tuple[ast.expr, ast.expr | None]:
    """A count of blocks, as threads where the kernel numbers them through all blocks and asks for no count."""
    text, threads = host.block[index] if index < len(host.block) else ("", None)
    axis, body = AXES[index], host.signature.body
    extents = [*host.chain(text, host.launch.place)]
    counts = "gridDim" in body or any(map(is_of_block, map(ast.Name, names(blocks))))
    if counts or not isinstance(threads, ast.Constant) or not is_numbered_through(axis, extents, body):
        return blocks, None
    return folded(ast.BinOp(blocks, ast.Mult(), threads)), _as_block(host, threads, index)


def _divided(host: LaunchNames, text: str, place: int, index: int) -> tuple[ast.expr, ast.expr | None]:
    """Numerator and divisor of a count of blocks; a number that is the block's stands for the block."""
    for name in list(host.chain(text, place)):
        meaning = host.program.meaning(name, place)
        if meaning is not None and name == text and name not in host.of_block:
            with suppress(NotArithmetic):
                if quotient(arithmetic(host.program.expanded(meaning[0]))) is not None:
                    text, place = meaning
    parts = quotient(arithmetic(host.program.expanded(text)))
    if parts is None:
        node = host.expression(text, place)
        return quotient(node) or (node, None)
    above, below = (host.expression(ast.unparse(part).replace("//", "/"), place) for part in parts)
    if (blocks := without_factor(above, below)) is not None and _COUNTS_GROUPS.search(host.signature.body):
        return blocks, None
    return unrounded(above, below), _as_block(host, below, index)


def _as_block(host: LaunchNames, divisor: ast.expr, index: int) -> ast.expr:
    """The block's extent for a divisor that is that."""
    if index >= len(host.block):
        return divisor
    text, own = host.block[index]
    if isinstance(own, ast.Constant) and ast.dump(own) == ast.dump(divisor) and own.value != 1:
        return ast.Name(f"block_size_{AXES[index]}")
    if isinstance(divisor, ast.Name) and is_of_block(divisor):
        is_own = host.block[AXES.index(divisor.id[-1])][0] == text
        return ast.Name(f"block_size_{AXES[index]}") if is_own else divisor
    return divisor


def asks_device(host: LaunchNames) -> bool:
    """Whether what CUDA tells of the device is among what the grid is made of."""
    waiting, seen = [(host.launch.grid, host.launch.place)], set[str]()
    while waiting:
        text, place = waiting.pop()
        new = {*re.findall(r"[A-Za-z_]\w*", text)} - seen
        seen |= new
        told = rf"\bcudaOccupancy\w+\s*\([^;]*&\s*(?:{'|'.join(new) or '(?!)'})\b"
        if re.search(r"[mM]ultiProcessorCount", text) or re.search(told, host.program.code):
            return True
        waiting += [meaning for name in new if (meaning := host.program.meaning(name, place))]
    return False
