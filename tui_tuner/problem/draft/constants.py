"""Constant memory that a host fills before it launches a kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from tui_tuner.problem.c_types import dtype_of, type_aliases
from tui_tuner.problem.draft.arithmetic.worked_out import fraction
from tui_tuner.problem.draft.host.memory import HostMemory
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.device_words import header_directories, reached_headers
from tui_tuner.problem.draft.kernel.files import text_of
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.host_code import device_code
from tui_tuner.problem.model import Language
from tui_tuner.problem.syntax import code_only, declares_constant

_LEFT_UNSET = re.compile(r"(?<!extern )\b__constant__\s+[^;{}()=]*;")


class DraftedConstant(NamedTuple):
    """A `__constant__` variable that a host fills, with so many elements, and the bounds of random ones.

    Attributes:
        is_of_host: whether the host that is given does so, and not one that is somewhere else.
        value: of a single number what the host copies there, where that is known.
    """

    name: str
    dtype: str
    elements: int
    drawn: tuple[int, int] | None = None
    is_of_host: bool = True
    value: float | None = None


def drafted_constants(source: str, headers: Sequence[str] = (), sizes: Collection[str] = ()) -> list[DraftedConstant]:
    """The constant memory that the host fills, as far as its type is a number's and its extents can be told.

    Of fractions, and of names that are taken for sizes, it is also what has no value where it is declared: another
    file's host fills that.
    """
    code = code_only(source)
    program, aliases = HostProgram(code, headers), type_aliases(code)
    of_host = constants_of_host(source)
    found = []
    for name in dict.fromkeys([*of_host, *_left_unset(code)]):
        others = r"(?:\w+\s*(?:\[[^\]]*\]\s*)*,\s*)*"
        declared = re.search(rf"\b__constant__\s+([\w\s]+?)\s*\b{others}{name}\s*((?:\[[^\]]*\]\s*)*)[;=,]", code)
        dtype, width = (None, 1) if declared is None else dtype_of(declared[1], "cuda", aliases)
        is_of_host = name in of_host
        is_filled = is_of_host or name in sizes
        if declared is not None and dtype is not None and (is_filled or is_floating(dtype_named(dtype))):
            numbers = [program.number(text, declared.start()) for text in re.findall(r"\[([^\]]*)\]", declared[2])]
            whole = [one for one in numbers if one]
            if len(whole) == len(numbers):
                drawn = _drawn(name, dtype, program)
                value = _copied(name, dtype, program) if width == 1 and not numbers and drawn is None else None
                found.append(DraftedConstant(name, dtype, width * math.prod(whole), drawn, is_of_host, value))
    return found


def constants_of_kernel(
    code: str, file: Path, kernel: str, language: Language, sizes: Collection[str] = ()
) -> list[DraftedConstant]:
    """The constant memory that a host fills and that this kernel, or a function that it calls, reads.

    Args:
        sizes: names in it that are taken for sizes.
    """
    if language != "cuda":
        return []
    headers = [text_of(header) for header in reached_headers(code, file)]
    words = re.findall(r"\w+", code_only(device_code(code, tuple(header_directories(code, file)), kernel)))
    return [one for one in drafted_constants(code, headers, sizes) if words.count(one.name) > 1]


def _copied(constant: str, dtype: str, program: HostProgram) -> float | None:
    """The number that the host copies to a variable; None where it is not known, or not always the same."""
    values = set[float | None]()
    for one in re.finditer(rf"\bcudaMemcpyToSymbol\w*\s*\(\s*&?\s*{constant}\s*,\s*&\s*(\w+)\s*,", program.code):
        node = program.worked_out(one[1], one.start())
        if node is None:
            return None
        values.add(fraction(node, {}))
    value = values.pop() if len(values) == 1 else None
    if value is None or is_floating(dtype_named(dtype)):
        return value
    return int(value) if value == int(value) else None


def _left_unset(code: str) -> list[str]:
    """The names in constant memory that are declared without a value."""
    return [name for one in _LEFT_UNSET.findall(code) for name in re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*[,;]", one)]


def _drawn(constant: str, dtype: str, program: HostProgram) -> tuple[int, int] | None:
    """The least whole number that the host fills constant memory with at random, and the first that is too large."""
    drawn = HostMemory(program).drawn(constant, 0) if "int" in dtype else None
    number = None if drawn is None else program.number(drawn.number, drawn.place)
    return None if drawn is None or number is None else (drawn.low, drawn.low + number)


def constants_of_host(source: str, kernel: str = "") -> list[str]:
    """Names in constant memory that the host fills, and, where one is named, a kernel or what it calls reads."""
    filled = re.findall(r"\b(?:cudaMemcpyToSymbol|cudaGetSymbolAddress)\w*\s*\(\s*&?\s*(\w+)", source)
    words = re.findall(r"\w+", code_only(device_code(source, (), kernel))) if kernel else []
    read = [name for name in dict.fromkeys(filled) if not kernel or words.count(name) > 1]
    return [name for name in read if declares_constant(source, name)]
