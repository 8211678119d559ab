"""The memory of a block, or work-group, as far as the kernel's text and the host's launch say how much it is."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from contextlib import suppress

from tui_tuner.problem.draft.c_expressions import NotArithmetic
from tui_tuner.problem.draft.drafted import MOST_THREADS
from tui_tuner.problem.draft.host_memory import in_elements
from tui_tuner.problem.draft.host_objects import Taken
from tui_tuner.problem.draft.launch_reading import LaunchReading
from tui_tuner.problem.draft.opencl_launches import LOCAL
from tui_tuner.problem.draft.worked_out import evaluated, finished

_SHARED = re.compile(r"\b(?:__shared__|__local|local)\s+[\w\s:]+?\b\w+\s*((?:\[[^\]]+\]\s*)+);")


def local_memory(reading: LaunchReading) -> Iterator[tuple[str, ast.expr]]:
    """The elements of each `__local` argument of OpenCL, where the host says its bytes."""
    place = reading.launch.place
    for given, parameter in zip(reading.launch.arguments, reading.signature.parameters, strict=False):
        meaning = reading.program.meaning(given, place) if given.isidentifier() else None
        asked = re.fullmatch(LOCAL, meaning[0] if meaning else given, re.DOTALL) if parameter.local else None
        if asked is not None:
            with suppress(NotArithmetic):
                taken = Taken(asked[1], meaning[1] if meaning else place)
                yield parameter.name, finished(in_elements(reading.program, reading.known, taken, parameter))


def most_threads(reading: LaunchReading) -> int:
    """What those arrays of a block hold that hold at least an element for each thread of the host's."""
    threads = math.prod(number or 1 for _, node in reading.block if node and (number := evaluated(node, {})))
    return min([MOST_THREADS, *(count for count in _held(reading) if count >= threads > 1)])


def _held(reading: LaunchReading) -> Iterator[int]:
    """The elements of each array of a block, as far as that is a number."""
    for extents in _SHARED.findall(reading.signature.body):
        with suppress(NotArithmetic):
            parts = re.findall(r"\[([^\]]+)\]", extents)
            nodes = [finished(reading.node(one, reading.launch.place)) for one in parts]
            yield math.prod(evaluated(node, {}) or 0 for node in nodes)
    yield from (evaluated(node, {}) or 0 for _, node in local_memory(reading))
