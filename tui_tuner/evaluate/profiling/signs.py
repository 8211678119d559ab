"""How a kernel goes about its work, as far as figures show it: which rewrites fit is decided by that, and not only by
what holds it back.

A product and a stencil may both be held by the path to L1, and want different kernels. Each sign rests on what is
declared, on the machine code or on counters; where these are not known it is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from tui_tuner.evaluate.profiling import Diagnosis, Profile
from tui_tuner.evaluate.profiling.roofline import working_type
from tui_tuner.evaluate.profiling.uncounted import ATOMIC
from tui_tuner.problem.candidate import Candidate, geometry
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import array_bytes, shape_of
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.problem.syntax import code_only
from tui_tuner.problem.tuning_step import Sign

SIGNS: dict[Sign, str] = {
    "reuse": "the same operands serve many results",
    "narrow_reuse": "the same operands of few bits serve many results",
    "row_a_thread": "each thread walks along data of its own",
    "transposed": "neighbouring threads access what lies far apart",
    "overlap": "neighbouring threads load much of the same",
    "narrow": "elements of one or two bytes",
    "atomics": "atomic operations",
    "divergence": "threads of a warp that do not take part",
    "barriers": "waiting at barriers",
}
"""Each sign in words."""
_REUSED = 16.0
"""Declared operations for a byte, from which on operands must be used several times."""
_NARROW_TYPES = ("float8", "float16", "bfloat16", "int8")
"""Types that tensor cores multiply faster than others."""
_NARROW_BYTES = 2
_SCATTERED = 0.55
"""Share of a sector that is data, up to which accesses do not coalesce."""
_SEVERAL = 3
"""Loads of a thread, from which on neighbours may share them."""
_APART = 24
"""Of 32 threads of a warp, that take part in an instruction."""
_AT_BARRIERS = 0.25
"""Share of the waiting of warps, from which on barriers are a pattern."""
_BETWEEN_BARRIERS = 20
"""Instructions for a barrier in the innermost loop, up to which barriers are a pattern where nothing was counted."""
_AGAIN = 2
"""Times that all arrays are loaded, from which on neighbours load the same."""


def signs(
    problem: Problem, candidate: Candidate, configuration: Configuration, found: Diagnosis, profile: Profile
) -> list[Sign]:
    """The signs of a measured kernel, the ones that say most about a rewrite at the start.

    Args:
        configuration: its best.
        found: what holds that back.
        profile: of it.
    """
    return [*_Seen(problem, candidate, configuration, found, profile).signs()]


@dataclass(frozen=True)
class _Seen:
    problem: Problem
    candidate: Candidate
    configuration: Configuration
    found: Diagnosis
    profile: Profile

    def signs(self) -> Iterator[Sign]:
        reuses, diverges = self._reuses(), self._diverges()
        if reuses:
            yield "narrow_reuse" if working_type(self.problem) in _NARROW_TYPES else "reuse"
        walks = not reuses and self._walks()
        of_rows: list[Sign] = ["divergence"] if diverges else []
        if walks:  # of few rows, that there are few threads costs more than that they diverge
            of_rows.insert(0 if self.found.leaves_idle else len(of_rows), "row_a_thread")
        yield from of_rows
        transposes = not (reuses or walks or diverges) and self._scattered()
        if transposes:
            yield "transposed"
        if self._waits_at_barriers():
            yield "barriers"
        if self._counts_atomically():
            yield "atomics"
        if not reuses and self._largest_is_narrow():
            yield "narrow"
        if not (reuses or walks or transposes or diverges) and self._overlaps():
            yield "overlap"

    def _reuses(self) -> bool:
        code = self.profile.code
        if code is not None and not code.reads:
            return False
        work = self.problem.work
        if work is None:
            return self._contracts()
        moved, operations = (float(evaluate(each, self.problem.sizes)) for each in (work.bytes, work.flops))
        return moved > 0 and operations / moved >= _REUSED

    def _contracts(self) -> bool:
        """Whether two inputs share an extent that no output has, and each another with an output, as of a product."""
        arrays = [argument for argument in self.problem.arguments if argument.shape is not None]
        extents = {array.name: {*map(str, array.shape or ())} for array in arrays}
        made = {extent for array in arrays if array.output for extent in extents[array.name]}
        read = [extents[array.name] for array in arrays if not array.output]
        return any(
            one & other - made and one & made and other & made and one & made != other & made
            for one, other in combinations(read, 2)
        )

    def _walks(self) -> bool:
        code, counters = self.profile.code, self.profile.counters
        if code is None or not code.loop or not code.inner_loads:
            return False
        return self._scattered() if counters is not None else self.found.leaves_idle

    def _scattered(self) -> bool:
        counters = self.profile.counters
        shares = (counters.loaded, counters.stored) if counters is not None else ()
        return any(share is not None and 0 < share <= _SCATTERED for share in shares)

    def _diverges(self) -> bool:
        counters = self.profile.counters
        return counters is not None and counters.together is not None and counters.together < _APART

    def _waits_at_barriers(self) -> bool:
        counters, code = self.profile.counters, self.profile.code
        if counters is not None:
            return counters.at_barriers >= _AT_BARRIERS
        if code is None or not code.inner_barriers:
            return False
        return code.loop_instructions <= code.inner_barriers * _BETWEEN_BARRIERS

    def _counts_atomically(self) -> bool:
        return ATOMIC.search(code_only(self.candidate.source)) is not None

    def _largest_is_narrow(self) -> bool:
        """Whether the array with the most elements has elements of one or two bytes."""
        arrays = [argument for argument in self.problem.arguments if argument.shape is not None]
        most = max(arrays, key=lambda each: math.prod(shape_of(each, self.problem.sizes)), default=None)
        return most is not None and most.dtype != "struct" and dtype_named(most.dtype).itemsize <= _NARROW_BYTES

    def _overlaps(self) -> bool:
        code = self.profile.code
        if code is None:
            return False
        if self.found.bottleneck in ("l1", "l2", "issue"):
            return code.inner_loads >= _SEVERAL
        if self.found.bottleneck != "latency":
            return False
        launch = geometry(self.candidate.launch, self.problem.sizes, self.configuration)
        loaded = math.prod((*launch.grid, *launch.block)) * code.loaded_bytes
        return loaded >= _AGAIN * array_bytes(self.problem, {})
