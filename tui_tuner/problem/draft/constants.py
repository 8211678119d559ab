"""Constant memory that the host fills before it launches a kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from tui_tuner.problem.c_types import dtype_of, type_aliases
from tui_tuner.problem.draft.host_memory import HostMemory
from tui_tuner.problem.draft.host_program import HostProgram
from tui_tuner.problem.syntax import code_only, declares_constant


class DraftedConstant(NamedTuple):
    """A `__constant__` variable that the host fills, with so many elements, and the bounds of random ones."""

    name: str
    dtype: str
    elements: int
    drawn: tuple[int, int] | None = None


def drafted_constants(source: str, headers: Sequence[str] = ()) -> list[DraftedConstant]:
    """The constant memory that the host fills, as far as its type is a number's and its extents can be told."""
    code = code_only(source)
    program, aliases = HostProgram(code, headers), type_aliases(code)
    found = []
    for name in constants_of_host(source):
        others = r"(?:\w+\s*(?:\[[^\]]*\]\s*)*,\s*)*"
        declared = re.search(rf"\b__constant__\s+([\w\s]+?)\s*\b{others}{name}\s*((?:\[[^\]]*\]\s*)*)[;=,]", code)
        dtype, width = (None, 1) if declared is None else dtype_of(declared[1], "cuda", aliases)
        if declared is not None and dtype is not None:
            numbers = [program.number(text, declared.start()) for text in re.findall(r"\[([^\]]*)\]", declared[2])]
            whole = [one for one in numbers if one]
            if len(whole) == len(numbers):
                found.append(DraftedConstant(name, dtype, width * math.prod(whole), _drawn(name, dtype, program)))
    return found


def _drawn(constant: str, dtype: str, program: HostProgram) -> tuple[int, int] | None:
    """The least whole number that the host fills constant memory with at random, and the first that is too large."""
    drawn = HostMemory(program).drawn(constant, 0) if "int" in dtype else None
    number = None if drawn is None else program.number(drawn.number, drawn.place)
    return None if drawn is None or number is None else (drawn.low, drawn.low + number)


def constants_of_host(source: str) -> list[str]:
    """Names in constant memory that the host fills."""
    filled = re.findall(r"\b(?:cudaMemcpyToSymbol|cudaGetSymbolAddress)\w*\s*\(\s*&?\s*(\w+)", source)
    return [name for name in dict.fromkeys(filled) if declares_constant(source, name)]
