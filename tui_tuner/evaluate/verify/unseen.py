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

LEAD, CPU_LEAD = 1, 4
"""How many more turns than not must find it as fast on such inputs: times of a CPU scatter, and scatter for seconds."""
GUILTY_LEAD = 12
"""How many more must find it slower before it is refused."""
MOST_TURNS = 40
LONG_S = 5.0
"""A turn of a kernel that takes long says more: after so many seconds one is enough."""
AGAIN = 3
"""Launches of a turn on what was timed: one that computes for once what it has kept does not hide the others."""
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

    def is_slower_than(self, other: _Beside) -> bool:
        """Whether it took longer than there, also beside the other kernel."""
        ratio, its = self.ms / self.other_ms, other.ms / other.other_ms
        return self.ms >= SLOWER * other.ms and ratio >= SLOWER * its


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
        is_cpu = device.info.is_cpu
        self._busy_s = 0.0 if is_cpu else BUSY_S
        self._lead, self._loads = (CPU_LEAD, AGAIN) if is_cpu else (LEAD, 1)

    def kept_results(
        self,
        load: Callable[[], AbstractContextManager[LoadedKernel]],
        timed: LoadedKernel,
        data: LaunchData,
        buffers: Buffers,
    ) -> DeviceFault | None:
        """Time the kernel on the same inputs in loads that have seen others only, in turns with the one that was timed.

        Args:
            timed: the kernel in the load in which it was timed.
            data: what with.

        Returns:
            That it keeps results, where it took longer in turn after turn.

        Raises:
            DeviceFault: a launch failed.
        """
        lead, took, then, end = 0, _Beside(), _Beside(), time.monotonic() + LONG_S
        for _ in range(MOST_TURNS):
            first, again = _Beside(), _Beside()
            for _ in range(self._loads):
                with load() as fresh:
                    self._note_first(fresh, data, buffers, first)
            for _ in range(AGAIN):
                same = [value.view() if isinstance(value, np.ndarray) else value for value in data.arguments]
                again.note(*self._once(timed, self._device.rewrite(buffers, same)))
            took.note(first.other_ms, first.ms)
            then.note(again.other_ms, again.ms)
            lead += 1 if first.is_slower_than(again) else -1
            if lead <= -self._lead or (lead < 0 and time.monotonic() > end):
                break
            if lead == GUILTY_LEAD:
                return self._kept(took, then)
        return None

    def _note_first(self, fresh: LoadedKernel, data: LaunchData, buffers: Buffers, first: _Beside) -> None:
        buffers = self._device.rewrite(buffers, make_arguments(self._problem, {}, secrets.randbits(63)))
        self._device.time_first(fresh, buffers, self._geometry, self._limit_s)  # its code is at hand then
        first.note(*self._once(fresh, self._device.rewrite(buffers, data.arguments)))

    def _kept(self, took: _Beside, then: _Beside) -> DeviceFault:
        unit = time_unit(cpu=self._device.info.is_cpu)
        first, again = time_words(took.ms, unit), time_words(then.ms, unit)
        message = f"{first} on inputs that it has not seen, and {again} on the same again: it keeps results"
        return DeviceFault(FailureKind.IMPLAUSIBLE, message)

    def _once(self, kernel: LoadedKernel, buffers: Buffers) -> tuple[float, float]:
        """The times of the other kernel and of this one behind it, ms."""
        (other, geometry), end = self._other, time.monotonic() + self._busy_s
        other_ms = self._device.time_first(other, buffers, geometry, self._limit_s)
        while time.monotonic() < end:
            other_ms = self._device.time_first(other, buffers, geometry, self._limit_s)
        return other_ms, self._device.time_first(kernel, buffers, self._geometry, self._limit_s)
