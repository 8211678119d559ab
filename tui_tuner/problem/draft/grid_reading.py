"""What the grid of a launch comes to once its block is read: what is divided to give its blocks, and by what."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tui_tuner.problem.draft.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.folding import folded
from tui_tuner.problem.draft.guesses import AXES, is_numbered_through
from tui_tuner.problem.draft.host_dimensions import axes
from tui_tuner.problem.draft.host_launches import HostLaunch
from tui_tuner.problem.draft.host_program import HostProgram
from tui_tuner.problem.draft.worked_out import finished, is_of_block, names, quotient, unrounded, without_factor

_COUNTS_GROUPS = re.compile(r"\bget_(?:group_id|num_groups|global_size)\b")
"""What an OpenCL kernel says that has to do with how many work-groups there are."""


@dataclass(frozen=True)
class GridReading:
    """Reads the grid of one launch.

    Attributes:
        body: of the kernel.
        block: the text of each axis of the block, and what it comes to.
        of_block: the host's names for the block.
        node: what text at a place comes to over the sizes; raises NotArithmetic where it cannot be read.
        chain: a name at a place and the names that it stands for.
    """

    program: HostProgram
    launch: HostLaunch
    body: str
    block: Sequence[tuple[str, ast.expr | None]]
    of_block: Collection[str]
    node: Callable[[str, int], ast.expr]
    chain: Callable[[str, int], Iterator[str]]

    def axes(self) -> list[tuple[ast.expr, ast.expr | None] | None]:
        """What is divided to give the blocks along each axis, and by what; None for an axis that cannot be read."""
        written, place = axes(self.program, self.launch.grid, self.launch.place)
        found: list[tuple[ast.expr, ast.expr | None] | None] = []
        for index, text in enumerate(written):
            try:
                above, below = self._divided(text, place, index)
            except NotArithmetic:
                found.append(None)
                continue
            of_block = inner if (inner := quotient(above)) is not None and is_of_block(inner[1]) else None
            if of_block is not None and below is not None:  # a grid that is folded, as it would be too long
                return [of_block]
            found.append(of_block or (self._in_threads(above, index) if below is None else (above, below)))
        return found

    def _in_threads(self, blocks: ast.expr, index: int) -> tuple[ast.expr, ast.expr | None]:
        """A count of blocks, as threads where the kernel numbers them through all blocks and asks for no count."""
        own = self.block[index] if index < len(self.block) else ("", None)
        threads, axis, body = own[1], AXES[index], self.body
        extents = [*self.chain(own[0], self.launch.place)]
        counts = "gridDim" in body or any(map(is_of_block, map(ast.Name, names(blocks))))
        if counts or not isinstance(threads, ast.Constant) or not is_numbered_through(axis, extents, body):
            return blocks, None
        return folded(ast.BinOp(blocks, ast.Mult(), threads)), self._as_block(threads, index)

    def _divided(self, text: str, place: int, index: int) -> tuple[ast.expr, ast.expr | None]:
        """Numerator and divisor of a count of blocks; a number that is the block's stands for the block."""
        for name in list(self.chain(text, place)):
            meaning = self.program.meaning(name, place)
            if meaning is not None and name == text and name not in self.of_block:
                with suppress(NotArithmetic):
                    if quotient(arithmetic(self.program.expanded(meaning[0]))) is not None:
                        text, place = meaning
        parts = quotient(arithmetic(self.program.expanded(text)))
        if parts is None:
            node = finished(self.node(text, place))
            return quotient(node) or (node, None)
        above, below = (finished(self.node(ast.unparse(part).replace("//", "/"), place)) for part in parts)
        if (blocks := without_factor(above, below)) is not None and _COUNTS_GROUPS.search(self.body):
            return blocks, None
        return unrounded(above, below), self._as_block(below, index)

    def _as_block(self, divisor: ast.expr, index: int) -> ast.expr:
        if index >= len(self.block):
            return divisor
        text, own = self.block[index]
        if own is not None and isinstance(own, ast.Constant) and ast.dump(own) == ast.dump(divisor) and own.value != 1:
            return ast.Name(f"block_size_{AXES[index]}")
        if isinstance(divisor, ast.Name) and is_of_block(divisor):
            is_own = self.block[AXES.index(divisor.id[-1])][0] == text
            return ast.Name(f"block_size_{AXES[index]}") if is_own else divisor
        return divisor
