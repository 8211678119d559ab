"""Whether a kernel is as fast on inputs that it has not seen as it is on those that it is timed with.

All timed launches have the same inputs, and a kernel may keep what it computed of them: right results, found again by a
checksum of all that they were made from, in less time than computing them takes.
"""

from __future__ import annotations

import secrets
import time

from tui_tuner.evaluate.devices.base import Buffers, Device, DeviceFault, LoadedKernel
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.format import time_unit, time_words
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.inputs import make_arguments
from tui_tuner.problem.model import Problem

ROUNDS = 12
SLOWER = 1.25
"""An honest kernel's first launch on inputs is not longer by this factor than the next, again and again."""
BUSY_S = 0.03
"""How long another kernel runs before, where the clock follows what ran: a GPU rests while inputs are made."""


def refuse_kept_results(
    device: Device,
    problem: Problem,
    other: tuple[LoadedKernel, Geometry],
    timed: tuple[LoadedKernel, Geometry],
    buffers: Buffers,
    limit_s: float,
) -> None:
    """Time a kernel on inputs that no launch has had, and once more on the same, until that takes as long.

    The other kernel is launched before either, so that caches, pages and clock are alike.

    Args:
        limit_s: of a launch.

    Raises:
        DeviceFault: a launch failed, or the first was longer in each of `ROUNDS`.
    """
    busy_s = 0.0 if device.info.is_cpu else BUSY_S

    def behind_the_other() -> float:
        end = time.monotonic() + busy_s
        while True:
            device.time_first(other[0], buffers, other[1], limit_s)
            if time.monotonic() >= end:
                return device.time_first(timed[0], buffers, timed[1], limit_s)

    first = again = 0.0
    for _ in range(ROUNDS):
        device.rewrite(buffers, make_arguments(problem, {}, secrets.randbits(63)))
        first, again = behind_the_other(), behind_the_other()
        if first < SLOWER * again:
            return
    took, then = (time_words(ms, time_unit(cpu=device.info.is_cpu)) for ms in (first, again))
    message = f"{took} on inputs that it has not seen, and {then} on the same again: it keeps results"
    raise DeviceFault(FailureKind.IMPLAUSIBLE, message)
