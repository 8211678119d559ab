"""Whether a kernel is as fast on inputs that it has not seen as it is on those that it is timed with.

All timed launches have the same inputs, and a kernel may keep what it computed of them: right results, found again by a
checksum of all that they were made from, in less time than computing them takes. A module that was loaded afresh has
kept nothing, whatever a kernel counts or throws dice for before it makes use of what it keeps. The heap and the shared
memory of a device outlive a load: what is kept there is of no use, since few elements are others in each launch. What
it kept of the launch before, by an address or as there are no inputs to tell launches apart, is looked at there too.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tui_tuner.evaluate.devices.base import Buffers, Device, KernelArgument, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.format import time_unit, time_words
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.inputs import make_arguments
from tui_tuner.problem.model import Problem
from tui_tuner.problem.textures import Texture, exchanged, textured

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
OTHERWISE = 2.0
"""Nor is it longer, by this factor, than where the two are timed: a machine may have become busy since then."""
SPARE_MS, CPU_SPARE_MS = 0.005, 1.0
"""What it may take longer still than where the two are timed, as short launches scatter; and where none of its size was
before it, as there are no other inputs."""
SOON_SPARE_MS = 0.05
"""And on a CPU more than behind itself, without another kernel between: its caches and predictions are still there."""
STALLS = 2
"""Launches in a row that are made again since the machine seems to have stood still meanwhile."""
BUSY_S = 0.03
"""How long another kernel runs before, where the clock follows what ran: a GPU rests while inputs are made."""


Times = TypeVar("Times")


def undisturbed(launch: Callable[[], Times]) -> Times:
    """What launching says; again, as often as `STALLS`, where the times cannot be true.

    The clock of a machine that stands still for a moment counts that for whoever was running. Of many launches the one
    that explains least is not asked; one alone must be.

    Raises:
        DeviceFault: it failed, or its times could never be true.
    """
    for _ in range(STALLS):
        try:
            return launch()
        except DeviceFault as fault:
            if fault.kind is not FailureKind.IMPLAUSIBLE:
                raise
    return launch()


@dataclass
class Beside:
    """The least time of a kernel, and of another that runs right before it: how fast the device was then."""

    other_ms: float = float("inf")
    ms: float = float("inf")

    def note(self, other_ms: float, ms: float) -> None:
        """Another launch of each."""
        self.ms, self.other_ms = min(self.ms, ms), min(self.other_ms, other_ms)

    def is_slower_than(self, other: Beside, factor: float, spare_ms: float) -> bool:
        """Whether it took longer than there by a factor, and what is spared, also beside the other kernel."""
        least_ms = factor * other.ms + spare_ms
        return self.ms >= least_ms and self.ms / self.other_ms >= least_ms / other.other_ms


@dataclass(frozen=True)
class Seen:
    """What a kernel has been timed with, and its load.

    Attributes:
        check: raises `ResultMismatch` where the outputs in these buffers are not those of the data.
        timed: how long it and the other took.
    """

    kernel: LoadedKernel
    data: LaunchData
    buffers: Buffers
    check: Callable[[Buffers], object]
    timed: Beside


class Unseen:
    """Times single launches of a kernel, each behind one of another, so that caches, pages and clock are alike.

    Args:
        other: launches the one that runs before, once, and tells what that took, ms.
        geometry: of the kernel that is timed.
        limit_s: of a launch.
    """

    def __init__(
        self,
        device: Device,
        problem: Problem,
        other: Callable[[Buffers], float],
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
        self._is_cpu = is_cpu
        self._cold_ms = CPU_SPARE_MS if is_cpu else SPARE_MS
        self._spare_ms = 0.0

    def kept_results(
        self,
        load: Callable[[], AbstractContextManager[LoadedKernel]],
        seen: Seen,
        smaller: tuple[Buffers, Geometry] | None,
    ) -> DeviceFault | None:
        """Time the kernel in loads that have seen other inputs only, in turns with the one that was timed.

        They have the same inputs but for few elements, as far as these vary: memory of the device may outlive a load.

        Args:
            smaller: memory of a launch at another size, with its geometry, where there is one.

        Returns:
            That it keeps results, where it took longer in turn after turn.

        Raises:
            DeviceFault: a launch failed.
            ResultMismatch: what it kept of other inputs was wrong.
        """
        lead, took, then, soon, end = 0, Beside(), Beside(), Beside(), time.monotonic() + LONG_S
        for _ in range(MOST_TURNS):
            first, again = Beside(), Beside()
            for _ in range(self._loads):
                # made before the load, whose launches then follow each other
                others = make_arguments(self._problem, {}, secrets.randbits(63))
                changed = self._changed(seen.data.arguments)
                with load() as fresh:
                    buffers = self._seen_others(fresh, seen, others, smaller)
                    if buffers is None:
                        return None
                    if changed is not None:
                        first.note(*self._once(fresh, self._device.rewrite(buffers, changed)))
                    buffers = self._device.rewrite(buffers, seen.data.arguments)
                    on_the_same = self._once(fresh, buffers)
                    if changed is None:
                        first.note(*on_the_same)
                    seen.check(buffers)
                for _ in range(AGAIN // self._loads):  # by turns: behind a load caches are cold for either
                    again.note(*self._once_more(seen))
            behind = Beside(again.other_ms, self._soon_ms(seen))
            took.note(first.other_ms, first.ms)
            then.note(again.other_ms, again.ms)
            soon.note(behind.other_ms, behind.ms)
            is_slower = any(first.is_slower_than(*than) for than in self._allowed(again, behind, seen.timed))
            lead += 1 if is_slower else -1
            if lead <= -self._lead or (lead < 0 and time.monotonic() > end):
                break
            if lead == GUILTY_LEAD:
                return self._kept(took, then, soon, seen.timed)
        return None

    def _changed(self, arguments: Sequence[KernelArgument]) -> list[KernelArgument] | None:
        """The arguments with others for few elements, as ordinary as these where they are not all the same."""
        seed = secrets.randbits(63)
        others = exchanged(self._problem, arguments, seed)
        return others or textured(self._problem, arguments, Texture.CHANGED, seed)

    def _once_more(self, seen: Seen) -> tuple[float, float]:
        """The times of the other kernel and of this one on what it was timed with, as if that were new, ms."""
        same = [value.view() if isinstance(value, np.ndarray) else value for value in seen.data.arguments]
        return undisturbed(lambda: self._once(seen.kernel, self._device.rewrite(seen.buffers, same)))

    def _allowed(self, again: Beside, soon: Beside, timed: Beside) -> Sequence[tuple[Beside, float, float]]:
        """What no first launch of an honest kernel is slower than, each with a factor and what is spared."""
        return (
            (again, SLOWER, self._spare_ms),
            (soon, SLOWER, self._spare_ms + SOON_SPARE_MS),
            (timed, OTHERWISE, self._cold_ms),
        )

    def _soon_ms(self, seen: Seen) -> float:
        """The least time of launches right behind each other, ms: what is kept for a moment is still there.

        Infinite on a GPU: how far an honest kernel's times differ there was not measured.
        """
        if not self._is_cpu:
            return math.inf
        return min(self._device.time(seen.kernel, seen.buffers, self._geometry, AGAIN, self._limit_s))

    def _seen_others(
        self,
        fresh: LoadedKernel,
        seen: Seen,
        others: Sequence[KernelArgument],
        smaller: tuple[Buffers, Geometry] | None,
    ) -> Buffers | None:
        """Launch once, so that the code is at hand, with other inputs, or at another size where all inputs are given.

        Returns:
            The memory, which holds other inputs then; None where there is nothing else to launch with.
        """
        varying = [i for i, one in enumerate(seen.data.arguments) if i not in seen.buffers.restored and one.shape]
        if any(not np.array_equal(others[i], seen.data.arguments[i]) for i in varying):
            buffers = self._device.rewrite(seen.buffers, others)
            self._device.time_first(fresh, buffers, self._geometry, self._limit_s)
            return buffers
        if smaller is None:
            return None
        self._spare_ms = self._cold_ms
        self._device.time_first(fresh, *smaller, self._limit_s)
        return seen.buffers

    def _kept(self, took: Beside, *others: Beside) -> DeviceFault:
        """That it took longer than others allow: on the same inputs again, soon after that, or where it is timed."""
        unit = time_unit(cpu=self._is_cpu)
        first, again, soon, timed = (time_words(beside.ms, unit) for beside in (took, *others))
        messages = (
            f"{first} on inputs that it has not seen, and {again} on the same again: it keeps results",
            f"{first} on inputs that it has not seen, and {soon} on the same soon after: it keeps results",
            f"{first} where it is launched now and then, and {timed} where it is timed: it tells them apart",
        )
        guilty = [took.is_slower_than(*than) for than in self._allowed(*others)]
        return DeviceFault(FailureKind.IMPLAUSIBLE, messages[guilty.index(True) if any(guilty) else -1])

    def _once(self, kernel: LoadedKernel, buffers: Buffers) -> tuple[float, float]:
        """The times of the other kernel and of this one behind it, ms."""
        end = time.monotonic() + self._busy_s
        other_ms = self._other(buffers)
        while time.monotonic() < end:
            other_ms = self._other(buffers)
        return other_ms, self._device.time_first(kernel, buffers, self._geometry, self._limit_s)
