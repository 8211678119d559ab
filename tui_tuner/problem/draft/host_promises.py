"""What the host keeps to: the whole numbers that it fills arrays with, and what its sizes are multiples of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

from tui_tuner.problem.draft.c_expressions import NotArithmetic, is_quotient
from tui_tuner.problem.draft.host_dimensions import axes
from tui_tuner.problem.draft.launch_reading import LaunchReading
from tui_tuner.problem.draft.worked_out import finished, said_again

_ASSERTED = re.compile(
    r"\b(?:assert|TORCH_CHECK|TORCH_INTERNAL_ASSERT|GGML_ASSERT|\w*CHECK\w*|\w*ASSERT\w*)\s*\(\s*\(?"
    r"(?P<size>[\w.]+(?:->\w+)?)\s*%\s*(?P<by>\w+|\([^;%]*?\))\s*\)?\s*==\s*0"
)


def drawn_in(reading: LaunchReading) -> Iterator[tuple[str, tuple[int, str]]]:
    """Arrays of whole numbers that the host fills at random: the least number, and the first that is too large."""
    for given, parameter in zip(reading.launch.arguments, reading.signature.parameters, strict=False):
        if not parameter.pointer or parameter.dtype is None or "int" not in parameter.dtype:
            continue
        found = reading.memory.drawn(given, reading.launch.place)
        if found is not None:
            with suppress(NotArithmetic):
                node = finished(reading.node(found.number, found.place))
                high = ast.BinOp(node, ast.Add(), ast.Constant(found.low))
                yield parameter.name, (found.low, said_again(ast.unparse(high)))


def multiples_in(reading: LaunchReading) -> dict[str, ast.expr]:
    """Sizes that are whole multiples of something, by name: the host asserts it, or divides them without rounding up.

    A size that is divided by the block alone is none: the grid of another block is rounded up.
    """
    found: dict[str, ast.expr] = {}

    def keep(size: ast.expr, by: ast.expr) -> None:
        is_block = isinstance(by, ast.Name) and by.id.startswith("block_size_")
        if isinstance(size, ast.Name) and size.id in reading.roots and not is_block and ast.unparse(by) != size.id:
            found.setdefault(size.id, by)

    written, place = axes(reading.program, reading.launch.grid, reading.launch.place)
    nodes = list(reading.passed.values())
    for text in written:
        with suppress(NotArithmetic):
            nodes.append(finished(reading.node(text, place)))
    for node in nodes:
        if isinstance(node, ast.BinOp) and is_quotient(node):
            keep(node.left, node.right)
    for one in _ASSERTED.finditer(reading.program.code):
        with suppress(NotArithmetic):
            keep(*(finished(reading.node(one[part], one.start())) for part in ("size", "by")))
    return found
