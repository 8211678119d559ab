"""How well a draft holds that was run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tui_tuner.app.first_draft import init_command
from tui_tuner.evaluate.trials import TrialResult
from tui_tuner.format import assigned_words
from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.draft.amendments import Tested
from tui_tuner.problem.draft.sizes.counts import LEAST_TIMED
from tui_tuner.problem.inputs import shape_of
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.load import Written
from tui_tuner.problem.model import Problem


@dataclass(frozen=True, order=True)
class Standing:
    """How far a draft that holds falls short, the worst first; what is less is better.

    Attributes:
        not_run: whether nothing could run it.
        alone: 0 where it holds at other sizes too, 1 at halves of these, 2 at these alone.
        no_numbers: outputs with elements that are no number.
        hardly_changed: outputs of which a launch changes next to nothing.
        too_small: whether its launch is too small to be timed.
    """

    not_run: bool = False
    alone: int = 0
    no_numbers: int = 0
    hardly_changed: int = 0
    too_small: bool = False


def standing_of(trial: TrialResult, tested: Tested) -> Standing:
    """How well a draft holds that was tested so."""
    alone = {"half": 1, "same": 2}.get(tested, 0)
    return Standing(False, alone, len(trial.no_numbers), len(trial.hardly_changed))


def said_of_small(written: Written) -> Iterator[str]:
    """That the launch of a draft is too small to be timed, in a line; nothing where it is not."""
    problem, kernel = written.problem, written.problem.kernel
    if not COMPILED_LANGUAGES[problem.language].has_blocks:
        return
    threads, elements = _threads(problem), _elements(problem)
    if max(threads, elements, *problem.sizes.values()) >= LEAST_TIMED:
        return
    init = init_command(kernel.source, kernel.name.partition("<")[0], written.host)
    sizes = assigned_words(problem.sizes)
    larger = f"make [sizes] larger ({sizes}) in {written.file.name}, which {init} writes"
    if not sizes:
        by_script = written.host is not None and written.host.suffix == ".py"
        stated_by = written.host.name if by_script and written.host else kernel.source
        larger = f"make the numbers larger that {stated_by} states"
    yield f"too small to be timed: {threads} threads over {elements} elements end about as soon as they begin; {larger}"


def _threads(problem: Problem) -> int:
    launched = geometry(problem.launch, problem.sizes, problem.default_configuration)
    return math.prod((*launched.grid, *launched.block))


def _elements(problem: Problem) -> int:
    return sum(math.prod(shape_of(one, problem.sizes)) for one in problem.arguments if one.shape is not None)
