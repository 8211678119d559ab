"""What a kernel does that no ceiling of bytes or operations counts: accesses by indices, and atomic operations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.inputs import shape_of
from tui_tuner.problem.model import Argument, Problem
from tui_tuner.problem.syntax import code_only

_NEAR_ELEMENTS = 2**16
"""Those of an array that L1 holds, of 4 bytes each: what is found there is not far apart."""
ATOMIC = re.compile(r"\batom(?:ic)?\w*\s*\(")


def uncounted(problem: Problem, source: str) -> Iterator[str]:
    """What can end a kernel far from its ceilings, a line each.

    Args:
        source: of the kernel.
    """
    code = code_only(source)
    for indices, arrays in _reached(problem, code).items():
        yield (
            f"{' and '.join(arrays)} {'is' if len(arrays) == 1 else 'are'} reached by indices of {indices}: where they "
            "are far apart each takes a whole sector of 32 bytes, and the bandwidth of a copy is out of reach"
        )
    if ATOMIC.search(code):
        yield (
            "atomic operations have units of their own, in shared memory and L2, and those on one word wait for each "
            "other: they may hold a kernel back before the ceilings above do"
        )


def _reached(problem: Problem, code: str) -> dict[str, list[str]]:
    """For each array of indices the large arrays of which they name elements."""
    arrays = [one for one in problem.arguments if one.shape is not None]
    found = {one.name: _named_by(one.name, code) for one in arrays if _may_index(one, code)}
    large = [one for one in arrays if math.prod(shape_of(one, problem.sizes)) > _NEAR_ELEMENTS]
    reached = {name: [one.name for one in large if one.name in bases] for name, bases in found.items()}
    return {name: others for name, others in reached.items() if others}


def _may_index(argument: Argument, code: str) -> bool:
    """Whether it holds whole numbers that are not where parts begin, which a loop goes on from one by one."""
    if argument.output or argument.dtype == "struct" or dtype_named(argument.dtype).kind not in "iu":
        return False
    return argument.fill != "offsets" and not re.search(rf"\b{argument.name}\s*\[[^\]]*\+\s*1\s*\]", code)


def _named_by(indices: str, code: str) -> set[str]:
    """What is subscripted by an element of an array, itself or in a variable."""
    element = rf"\b{indices}\s*\)?\s*\["
    holders = {found[1] for found in re.finditer(rf"\b(\w+)\s*=(?!=)[^;=]*{element}", code)}
    subscripts = [element, *(rf"\b{holder}\b" for holder in holders)]
    bases = re.finditer(rf"\b(\w+)\s*\[(?=[^\[\];]*(?:{'|'.join(subscripts)}))", code)
    return {found[1] for found in bases} - {indices}
