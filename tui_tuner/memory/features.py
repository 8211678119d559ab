"""Cheap static features of a kernel as given: what similarity between kernels is judged by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field
from tree_sitter import Node

from tui_tuner.memory.kept import KeptNumber, KeptText, KeptValue, MemoryModel
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.geometry import geometry
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Argument, Language, Problem
from tui_tuner.problem.source_text import code_only
from tui_tuner.problem.syntax import parse

CALLS = {
    "barriers": re.compile(r"__syncthreads\w*|__syncwarp|(?:work_group_|sub_group_)?barrier|sync"),
    "shuffles": re.compile(r"__shfl\w*|__reduce_\w+_sync|sub_group_(?:shuffle|reduce|scan|broadcast)\w*"),
    "atomics": re.compile(r"atom(?:ic)?[A-Z_]\w*"),
}
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


class KernelFeatures(MemoryModel):
    """A kernel without its source.

    Attributes:
        arguments: type and rank of each, as in "float32[2]" for a matrix, "int32" for a number; sorted.
        uses: which of shared memory, barriers, shuffles, atomics, loops, nested loops.
        intensity: operations a byte, from `[work]`; None where that is not told.
        tunables: the values of each.
        threads: threads of the grid along x, y, z as given; empty where that cannot be told.
    """

    kernel: KeptText
    language: KeptText
    arguments: Annotated[list[KeptText], Field(max_length=200)]
    uses: Annotated[list[KeptText], Field(max_length=20)]
    intensity: KeptNumber | None
    tunables: Annotated[dict[KeptText, Annotated[list[KeptValue], Field(max_length=1000)]], Field(max_length=100)]
    threads: Annotated[list[int], Field(max_length=3)]


def features_of(problem: Problem) -> KernelFeatures:
    """The features of a problem's kernel at the timed size."""
    return KernelFeatures(
        kernel=problem.kernel.name,
        language=problem.language,
        arguments=sorted(map(_kind, problem.arguments)),
        uses=list(_uses(problem.source_text, problem.language)),
        intensity=_intensity(problem),
        tunables=problem.tunables,
        threads=_threads(problem),
    )


def _kind(argument: Argument) -> str:
    return argument.dtype if argument.shape is None else f"{argument.dtype}[{len(argument.shape)}]"


def _intensity(problem: Problem) -> float | None:
    if problem.work is None:
        return None
    try:
        operations, moved = (float(evaluate(e, problem.sizes)) for e in (problem.work.flops, problem.work.bytes))
    except ExpressionError:
        return None
    return operations / moved if operations >= 0 and moved > 0 else None


def _threads(problem: Problem) -> list[int]:
    try:
        launch = geometry(problem.launch, problem.sizes, problem.default_configuration)
    except ExpressionError:
        return []
    return [blocks * threads for blocks, threads in zip(launch.grid, launch.block, strict=True)]


def _uses(source: str, language: Language) -> Iterator[str]:
    traits = COMPILED_LANGUAGES.get(language)
    if traits is None:
        return
    code = code_only(source)
    if traits.shared_memory is not None and traits.shared_memory.search(code):
        yield "shared memory"
    called, depth = _calls_and_loops(parse(code, language), code)
    for what, names in CALLS.items():
        if any(names.fullmatch(name) for name in called):
            yield what
    yield from ("loops", "nested loops")[:depth]


def _calls_and_loops(root: Node, code: str) -> tuple[set[str], int]:
    """The names of the functions that are called, and how deep loops are nested."""
    called, deepest = set[str](), 0
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        depth += node.type in _LOOPS
        deepest = max(deepest, depth)
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is not None:
            called.add(re.split(r"\W+", code[function.start_byte : function.end_byte].partition("<")[0])[-1])
        pending += [(child, depth) for child in node.children]
    return called, deepest
