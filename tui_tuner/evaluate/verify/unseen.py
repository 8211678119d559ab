"""Whether a kernel is as fast on inputs that it has not seen as it is on those that it is timed with.

All timed launches have the same inputs, and a kernel may keep what it computed of them: right results, found again by a
checksum of all that they were made from, in less time than computing them takes. A module that was loaded afresh has
kept nothing, whatever a kernel counts or throws dice for before it makes use of what it keeps.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from tui_tuner.evaluate.devices.base import Buffers, Device, DeviceFault, LoadedKernel
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.verify.datasets import LaunchData
from tui_tuner.format import time_unit, time_words
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.inputs import make_arguments
from tui_tuner.problem.model import Problem

ROUNDS = 12
AGAIN = 8
"""Launches on what was timed: one that computes for once what it has kept does not hide the others."""
SLOWER = 1.25
"""An honest kernel's first launch on inputs is not longer by this factor than another on the same, again and again."""
BUSY_S = 0.03
"""How long another kernel runs before, where the clock follows what ran: a GPU rests while inputs are made."""


class Unseen:
    """Times single launches of a kernel, each behind one of another, so that caches, pages and clock are alike.

    Args:
        other: what runs before.
        geometry: of the kernel that is timed.
        limit_s: of a launch.
    """

    def __init__(
        self,
        device: Device,
        problem: Problem,
        other: tuple[LoadedKernel, Geometry],
        geometry: Geometry,
        limit_s: float,
    ) -> None:
        self._device = device
        self._problem = problem
        self._other = other
        self._geometry = geometry
        self._limit_s = limit_s
        self._busy_s = 0.0 if device.info.is_cpu else BUSY_S

    def again_ms(self, timed: LoadedKernel, buffers: Buffers) -> float:
        """The least time of a launch in the load that was timed, on the inputs that it was timed with."""
        return min(self._once(timed, buffers, self._busy_s * (not n)) for n in range(AGAIN))

    def refuse_kept_results(
        self,
        load: Callable[[], AbstractContextManager[LoadedKernel]],
        data: LaunchData,
        buffers: Buffers,
        again_ms: float,
    ) -> None:
        """Time the kernel on the same inputs in a load that has seen others only, until that takes as long.

        Args:
            data: what the kernel was timed with.
            again_ms: how long it took there.

        Raises:
            DeviceFault: a launch failed, or took longer in each of `ROUNDS`.
        """
        first_ms = float("inf")
        for _ in range(ROUNDS):
            with load() as fresh:
                buffers = self._device.rewrite(buffers, make_arguments(self._problem, {}, secrets.randbits(63)))
                self._once(fresh, buffers, 0.0)  # its code is at hand then
                buffers = self._device.rewrite(buffers, data.arguments)
                first_ms = min(first_ms, self._once(fresh, buffers, self._busy_s))
            if first_ms < SLOWER * again_ms:
                return
        unit = time_unit(cpu=self._device.info.is_cpu)
        took, then = time_words(first_ms, unit), time_words(again_ms, unit)
        message = f"{took} on inputs that it has not seen, and {then} on the same again: it keeps results"
        raise DeviceFault(FailureKind.IMPLAUSIBLE, message)

    def _once(self, kernel: LoadedKernel, buffers: Buffers, busy_s: float) -> float:
        (other, geometry), end = self._other, time.monotonic() + busy_s
        while True:
            self._device.time_first(other, buffers, geometry, self._limit_s)
            if time.monotonic() >= end:
                return self._device.time_first(kernel, buffers, self._geometry, self._limit_s)
