"""What to write where the problem drafted for a kernel does not hold, with the lines that say why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_tuner.problem.c_types import dtype_of, type_aliases, type_words
from tui_tuner.problem.model import Problem
from tui_tuner.problem.signature import find_kernel
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import code_only

_NOTHING = re.compile(r"a kernel that computes nothing would pass the check of '(\w+)'")
_MOST_LINES = 3


def needed(reason: str, problem: Problem) -> str:
    """What is to be corrected, in words.

    Args:
        reason: why the kernel as given did not hold.
        problem: the first draft.
    """
    nothing = _NOTHING.search(reason)
    if nothing is not None:
        return _of_constant(nothing[1], problem)
    if "not even right against itself" in reason:
        return (
            "two runs of it differ: its threads race, as where threads of a warp read what others of it write with no "
            "__syncwarp() between, or the sizes are none that it can do"
        )
    if any(words in reason for words in ("past the end", "before the start", "belongs to no argument", "impossible")):
        mixed = next(_of_several_types(problem), None)
        if mixed is not None:
            return mixed
        return "shape says how large an array is, low and high what numbers are in it"
    return "[launch] says how many threads run, [[arguments]] what they are given"


def _of_constant(name: str, problem: Problem) -> str:
    """Of an output that holds one value once the kernel has run, as a flag does that it always clears."""
    element = rf"(?:\*\s*{name}|\b{name}\s*\[(?:[^][;=]|\[[^][;=]*\])*\])"
    written = re.compile(rf"{element}\s*=(?!=)\s*(true|false|[-\d.]+f?)\s*;")
    code = code_only(problem.source_text)
    kernel = find_kernel(problem.source_text, problem.language, problem.kernel.name)
    begins = max(0, code.find(kernel.body))
    lines = [
        f"line {code.count(chr(10), 0, begins + one.start()) + 1} sets it to {one[1]}"
        for one in list(written.finditer(kernel.body))[:_MOST_LINES]
    ]
    if not lines:
        return f"fill, low and high say what inputs hold: with these '{name}' holds one value, or what it held before"
    return (
        f"'{name}' is a flag ({', '.join(lines)}) that holds one value once the kernel has run, whatever it computes: "
        "set it in a kernel of its own, and take it as const here"
    )


def _of_several_types(problem: Problem) -> Iterator[str]:
    """Of arrays of structures whose members no fill can make, as an offset beside a weight."""
    code = code_only(problem.source_text)
    known, aliases = structures(code), type_aliases(code)
    for parameter in find_kernel(problem.source_text, problem.language, problem.kernel.name).parameters:
        kind = (type_words(parameter.type_text) or [""])[-1]
        members = known.get(kind)
        is_mixed = members is None or not _are_alike([one.type_text for one in members], aliases)
        if not (parameter.pointer and kind in known and is_mixed):
            continue
        held = f" ({', '.join(f'{one.type_text} {one.name}' for one in members)})" if members else ""
        yield (
            f"'{parameter.name}' is an array of {kind}{held}, which no fill makes: take an array for each member, or "
            f'name a function that makes it, as in function = "make_{parameter.name}" with dtype = "uint8" and '
            "its bytes as shape"
        )


def _are_alike(types: list[str], aliases: dict[str, str]) -> bool:
    return len({dtype_of(one, "cuda", aliases)[0] for one in types}) == 1
