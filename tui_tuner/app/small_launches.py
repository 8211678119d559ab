"""Drafts whose launch is over too soon to be timed: how small it is, and what to change, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tui_tuner.app.amending import init_command
from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.draft.sizes import LEAST_TIMED
from tui_tuner.problem.inputs import shape_of
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.load import Written
from tui_tuner.problem.model import Problem


def said_of_small(written: Written) -> Iterator[str]:
    """That the launch of a draft is too small to be timed, in a line; nothing where it is not."""
    problem, kernel = written.problem, written.problem.kernel
    if not COMPILED_LANGUAGES[problem.language].has_blocks:
        return
    threads, elements = _threads(problem), _elements(problem)
    if max(threads, elements, *problem.sizes.values()) >= LEAST_TIMED:
        return
    init = init_command(kernel.source, kernel.name.partition("<")[0], written.host)
    sizes = ", ".join(f"{name} = {size}" for name, size in problem.sizes.items())
    larger = f"make [sizes] larger ({sizes}) in {written.file.name}, which {init} writes"
    if not sizes:
        larger = f"make the numbers larger that {kernel.source} states"
    yield f"too small to be timed: {threads} threads over {elements} elements end about as soon as they begin; {larger}"


def _threads(problem: Problem) -> int:
    launched = geometry(problem.launch, problem.sizes, problem.default_configuration)
    return math.prod((*launched.grid, *launched.block))


def _elements(problem: Problem) -> int:
    return sum(math.prod(shape_of(one, problem.sizes)) for one in problem.arguments if one.shape is not None)
