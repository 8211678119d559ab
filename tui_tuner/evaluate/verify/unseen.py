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

import numpy as np

from tui_tuner.evaluate.devices.base import Buffers, Device, DeviceFault, LoadedKernel
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.verify.datasets import LaunchData
from tui_tuner.format import time_unit, time_words
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.inputs import make_arguments
from tui_tuner.problem.model import Problem

ROUNDS = 12
AGAIN = 3
"""Launches on what was timed: one that computes for once what it has kept does not hide the others."""
SLOWER = 1.25
"""An honest kernel's first launch on inputs is not longer by this factor than another on the same, again and again."""
BUSY_S = 0.03
"""How long another kernel runs before, where the clock follows what ran: a GPU rests while inputs are made."""


class _Beside:
    """The least time of a kernel, and of another that runs right before it: how fast the device was then."""

    def __init__(self) -> None:
        self.ms = self.other_ms = float("inf")

    def note(self, other_ms: float, ms: float) -> None:
        self.ms, self.other_ms = min(self.ms, ms), min(self.other_ms, other_ms)

    @property
    def ratio(self) -> float:
        return self.ms / self.other_ms


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

    def again(self, timed: LoadedKernel, data: LaunchData, buffers: Buffers) -> _Beside:
        """How long it takes in the load that was timed, on the inputs that it was timed with, written anew."""
        found = _Beside()
        for _ in range(AGAIN):
            same = [value.view() if isinstance(value, np.ndarray) else value for value in data.arguments]
            found.note(*self._once(timed, self._device.rewrite(buffers, same)))
        return found

    def refuse_kept_results(
        self,
        load: Callable[[], AbstractContextManager[LoadedKernel]],
        data: LaunchData,
        buffers: Buffers,
        again: _Beside,
    ) -> None:
        """Time the kernel on the same inputs in a load that has seen others only, until that takes as long.

        Args:
            data: what the kernel was timed with.
            again: how long it took there.

        Raises:
            DeviceFault: a launch failed, or took longer in each of `ROUNDS`.
        """
        first = _Beside()
        for _ in range(ROUNDS):
            with load() as fresh:
                buffers = self._device.rewrite(buffers, make_arguments(self._problem, {}, secrets.randbits(63)))
                self._device.time_first(fresh, buffers, self._geometry, self._limit_s)  # its code is at hand then
                buffers = self._device.rewrite(buffers, data.arguments)
                first.note(*self._once(fresh, buffers))
            if first.ms < SLOWER * again.ms or first.ratio < SLOWER * again.ratio:
                return
        unit = time_unit(cpu=self._device.info.is_cpu)
        took, then = time_words(first.ms, unit), time_words(again.ms, unit)
        message = f"{took} on inputs that it has not seen, and {then} on the same again: it keeps results"
        raise DeviceFault(FailureKind.IMPLAUSIBLE, message)

    def _once(self, kernel: LoadedKernel, buffers: Buffers) -> tuple[float, float]:
        """The times of the other kernel and of this one behind it, ms."""
        (other, geometry), end = self._other, time.monotonic() + self._busy_s
        other_ms = self._device.time_first(other, buffers, geometry, self._limit_s)
        while time.monotonic() < end:
            other_ms = self._device.time_first(other, buffers, geometry, self._limit_s)
        return other_ms, self._device.time_first(kernel, buffers, self._geometry, self._limit_s)
