"""The bytes that the host takes for an array, as elements of what the kernel takes it for."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable

from tui_tuner.problem.by_value import structure_bytes
from tui_tuner.problem.c_types import dtype_of
from tui_tuner.problem.draft.arithmetic.c_expressions import SIZEOF
from tui_tuner.problem.draft.arithmetic.folding import factors, folded, product
from tui_tuner.problem.draft.arithmetic.worked_out import finished
from tui_tuner.problem.draft.host.objects import Taken
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.placement import ADDRESS_BYTES
from tui_tuner.problem.signature import KernelParameter

_BETWEEN_WORDS = re.compile(r"_(?!t(?:_|$))")
"""What stands between the words of a type; that of `uint8_t` is its own."""
_ADDRESS = re.compile(r"\bsizeof\s*\([^()]*\*[^()]*\)")


def in_elements(
    program: HostProgram, known: Callable[[str, int], ast.expr | None], taken: Taken, parameter: KernelParameter
) -> ast.expr:
    """Bytes as elements of what a kernel's parameter points to: without the factor that is one element's.

    Raises:
        NotArithmetic: they cannot be read.
    """
    text, place = taken
    for _ in range(4):  # a name for bytes is what was said of it
        meaning = program.meaning(text, place) if re.fullmatch(r"[A-Za-z_]\w*", text) else None
        if meaning is None or "sizeof" not in meaning[0]:
            break
        text, place = meaning
    if parameter.is_list:
        text = _ADDRESS.sub(str(ADDRESS_BYTES), text)
    sized, parts = _without_bytes(program.resolved(text, place, known))
    of_number = parameter.width * dtype_named(parameter.dtype or "float32").itemsize
    of_number = ADDRESS_BYTES if parameter.is_list else of_number
    element = structure_bytes(parameter.members) if parameter.members else of_number
    if sized is not None:
        dtype, width = dtype_of(_BETWEEN_WORDS.sub(" ", sized.id.removeprefix(SIZEOF)), "cuda", {})
        host = width * dtype_named(dtype).itemsize if dtype is not None and parameter.dtype is not None else element
        return _scaled(parts, host, element)
    return _scaled(parts, 1, element)


def _without_bytes(node: ast.expr) -> tuple[ast.Name | None, list[ast.expr]]:
    """The bytes of an element that a product has as a factor, also of what is divided in it, and the other factors."""
    parts = factors(node)
    for at, one in enumerate(parts):
        if isinstance(one, ast.Name) and one.id.startswith(SIZEOF):
            return one, parts[:at] + parts[at + 1 :]
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv):
            sized, above = _without_bytes(one.left)
            if sized is not None:
                return sized, [*parts[:at], ast.BinOp(product(above), ast.FloorDiv(), one.right), *parts[at + 1 :]]
    return None, parts


def _scaled(parts: list[ast.expr], bytes_of_each: int, element: int) -> ast.expr:
    """So many times some bytes, as elements."""
    shared = math.gcd(bytes_of_each, element)
    above, below = bytes_of_each // shared, element // shared
    exact = [isinstance(part, ast.Constant) and part.value == below for part in parts]
    for index, part in sorted(enumerate(parts), key=lambda one: not exact[one[0]]):
        if below > 1 and isinstance(part, ast.Constant) and isinstance(part.value, int) and part.value % below == 0:
            parts, below = [*parts[:index], ast.Constant(part.value // below), *parts[index + 1 :]], 1
    whole = finished(product([*parts, ast.Constant(above)]))
    return whole if below == 1 else folded(ast.BinOp(whole, ast.FloorDiv(), ast.Constant(below)))
