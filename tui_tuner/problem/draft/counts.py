"""What the threads of a launch and the elements of its arrays come to, and which sizes they are made of."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from tui_tuner.problem.draft.drafted import DraftedLaunch
from tui_tuner.problem.draft.feasible_sizes import value_of
from tui_tuner.problem.draft.host_memory import LIST


def counted_in(launch: DraftedLaunch) -> set[str]:
    """The sizes that threads are made of."""
    return {*re.findall(r"[A-Za-z_]\w*", " ".join(launch.keys.get("problem_size", ())))}


def extents_in(launch: DraftedLaunch) -> frozenset[str]:
    """The sizes that arrays or threads are made of."""
    return frozenset(re.findall(r"\w+", " ".join([*launch.keys.get("problem_size", ()), *launch.shapes.values()])))


def threads_of(launch: DraftedLaunch, sizes: Mapping[str, int]) -> float:
    """The threads of a launch, as far as they are counted."""
    return math.prod(value_of(text, sizes) for text in launch.keys.get("problem_size", ()))


def elements_of(launch: DraftedLaunch, sizes: Mapping[str, int]) -> float:
    """The elements of all arrays."""
    counted = launch.shapes
    return sum(
        value_of(text, sizes) * value_of(counted.get(LIST.format(name), "1"), sizes) for name, text in counted.items()
    )
