"""What holds a measured launch back: from its time, its declared work, how it fills the device, and from a profile.

One sentence names the bottleneck, the facts that it rests on stand before it. What comes near to a ceiling, or keeps a
unit busy, is held by that, however it does so; else the device must first be filled; what is left waits, and for what
only a profile tells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tui_tuner.evaluate.profiling import NO_PROFILE, Diagnosis, Profile, profile_facts
from tui_tuner.evaluate.profiling.counters import L2, MEMORY, QUEUED, Counters
from tui_tuner.evaluate.profiling.occupancy import Occupancy, Waves, occupancy, waves
from tui_tuner.evaluate.profiling.roofline import ALL_MOVED, Moved, Roofline, moved_once, roofline, traffic_ms
from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.format import counted
from tui_tuner.problem.candidate import Candidate, Geometry, geometry
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.model import Problem
from tui_tuner.problem.tuning_step import Bottleneck

NEAR = 0.7
"""Share of a ceiling from which on it is what holds a launch back."""
_LAUNCH_MS = 0.006
"""A launch that takes no longer is mostly the cost of launching, a few microseconds on any GPU."""
_FEW_ROUNDS = 4
"""Up to so many rounds of blocks, one that is not full is a large part of the time."""
_IDLE = 0.2
"""Share of the device, over all rounds, that has no block to run, from which on it is told."""
_BEYOND = 1.05
"""Share of what units can do from which on it is other units that do it; less is how far measured peaks are off."""
_LOW_OCCUPANCY = 0.25
_SCATTERED = 0.3
"""Share of the sectors of accesses to global memory that is data, up to which they are what holds a launch back."""
_HARDLY = 0.25
"""Share of its peak up to which a unit holds nothing back."""
_SPILLED = 32
"""Bytes of registers that a thread keeps in memory, from which on they may cost something."""


def filling(
    problem: Problem, device: DeviceInfo, candidate: Candidate, evaluation: Evaluation
) -> tuple[Occupancy | None, Waves | None]:
    """How a configuration's launch fills the device; None for what is not known."""
    launch = _launch(problem, candidate, evaluation)
    return (None, None) if launch is None else _filling(device, launch, evaluation)


def _filling(device: DeviceInfo, launch: Geometry, evaluation: Evaluation) -> tuple[Occupancy | None, Waves | None]:
    held = occupancy(device, evaluation.resources, math.prod(launch.block), launch.shared_bytes)
    return held, None if held is None else waves(device, held, math.prod(launch.grid))


def diagnosis(
    problem: Problem,
    device: DeviceInfo,
    candidate: Candidate,
    evaluation: Evaluation,
    profile: Profile = NO_PROFILE,
) -> Diagnosis | None:
    """What holds a measured launch back.

    Args:
        profile: of the launch.

    Returns:
        None where nothing was measured, or the device has no ceilings.
    """
    if evaluation.timing is None or not device.peaks:
        return None
    launch = _launch(problem, candidate, evaluation)
    if launch is None:
        return None
    held, filled = _filling(device, launch, evaluation)
    limits = roofline(problem, device)
    time = evaluation.timing.median
    moved = moved_once(problem, device)
    measured = _Measured(device, limits, moved, evaluation, launch, held, filled, time, profile)
    name, cause = next(measured.causes())
    facts = (*_facts(measured, problem), *profile_facts(profile, _declared_bytes(problem)))
    return Diagnosis(name, cause, facts, leaves_idle=any(measured.of_the_grid()))


def _launch(problem: Problem, candidate: Candidate, evaluation: Evaluation) -> Geometry | None:
    if not problem.is_compiled:
        return evaluation.geometry
    try:
        return geometry(candidate.launch, problem.sizes, evaluation.configuration)
    except ExpressionError:
        return None


@dataclass(frozen=True)
class _Measured:
    """A launch and all that is known of it; `time` in ms."""

    device: DeviceInfo
    limits: Roofline | None
    moved: Moved | None
    evaluation: Evaluation
    launch: Geometry
    held: Occupancy | None
    filled: Waves | None
    time: float
    profile: Profile

    @property
    def counters(self) -> Counters | None:
        return self.profile.counters

    @property
    def is_fed_by_copies(self) -> bool:
        """Whether tensor cores are given work by few warps, while others copy for them: more warps help none."""
        code = self.profile.code
        return code is not None and code.has_tensor_cores and code.copies

    @property
    def blocks(self) -> int:
        return math.prod(self.launch.grid)

    def causes(self) -> Iterator[tuple[Bottleneck, str]]:
        """All that hold it back, what holds most at the start; there is always one."""
        if self.limits is not None:
            yield from self._of_a_ceiling(self.limits)
        if self.counters is not None:
            yield from self._of_sectors(self.counters)
            yield from self._of_a_unit(self.counters)
        elif self.moved is not None:
            yield from self._of_the_arrays(self.moved)
        if self.time <= _LAUNCH_MS:
            yield "launch", f"A launch of {1000 * self.time:.1f} us is mostly the cost of launching."
        yield from self.of_the_grid()
        if (spilled := self.evaluation.resources.spill_bytes or 0) >= _SPILLED:
            yield "spills", f"Registers run out: a thread keeps {spilled} bytes of them in memory."
        if self.held is not None and self.held.fraction <= _LOW_OCCUPANCY and not self.is_fed_by_copies:
            yield (
                "occupancy",
                f"It waits, with few warps to hide that: {self.held.warps} of {self.held.max_warps} on a "
                f"multiprocessor, limited by {' and '.join(self.held.limiters)}. More of them, or more independent "
                "work in each thread.",
            )
        if self.counters is not None:
            yield from self._of_atomics(self.counters)
            yield from self._of_waits(self.counters)
        if self.limits is not None:
            yield "latency", self._waiting(self.limits)
        yield "unknown", self._undeclared()

    def of_the_grid(self) -> Iterator[tuple[Bottleneck, str]]:
        """That blocks leave much of the device idle, where they do."""
        units = self.device.multiprocessors or 0
        if self.blocks < units:
            yield "grid", f"The grid has {self.blocks} blocks for {units} multiprocessors: the others idle."
        elif self.filled is not None and self.filled.count <= _FEW_ROUNDS:
            idle = 1 - self.filled.blocks / (self.filled.resident * self.filled.count)
            if idle >= _IDLE:
                rounds = counted(self.filled.count, "round")
                yield (
                    "tail",
                    f"{self.filled.blocks} blocks run in {rounds} of {self.filled.resident}: over all of them "
                    f"{idle:.0%} of the device has no block. Other sizes of blocks, or blocks that share "
                    "out the work among themselves, fill it.",
                )

    def _of_sectors(self, counters: Counters) -> Iterator[tuple[Bottleneck, str]]:
        if counters.memory_busy < _HARDLY:  # what asks for so little waits for something else, whatever it asks for
            return
        code = self.profile.code
        copies = code is not None and code.copies
        for share, how in ((None if copies else counters.loaded, "loaded from"), (counters.stored, "stored to")):
            if share is not None and 0 < share <= _SCATTERED:
                yield (
                    "l2",
                    f"Accesses that do not coalesce: of the sectors {how} global memory only {share:.0%} is data that "
                    "is asked for. Neighbouring threads of a warp should take neighbouring elements.",
                )

    def _of_a_unit(self, counters: Counters) -> Iterator[tuple[Bottleneck, str]]:
        busy = [(unit, share) for unit, share in counters.busy() if share >= NEAR]
        if busy and busy[0][0] is L2 and MEMORY in dict(busy):  # through which all goes that comes from there
            busy = [(unit, share) for unit, share in busy if unit is MEMORY]
        for unit, share in busy[:1]:
            yield unit.holds, f"{unit.name[0].upper()}{unit.name[1:]}: busy for {share:.0%} of the time. {unit.way}"

    def _of_atomics(self, counters: Counters) -> Iterator[tuple[Bottleneck, str]]:
        code, busy = self.profile.code, counters.busy()
        if code is None or not code.has_atomics or not busy or busy[0][1] >= _HARDLY:
            return
        for stall, share in counters.waits()[:1]:
            if stall in QUEUED:
                yield (
                    "latency",
                    f"Atomic operations, as it seems: no unit is busy for more than {busy[0][1]:.0%} of the time, and "
                    f"warps wait, {share:.0%} of that {stall.reason}. Those on one word wait for each other. Add up "
                    "before, in registers, a warp or shared memory; several copies of what many threads add to.",
                )

    def _of_waits(self, counters: Counters) -> Iterator[tuple[Bottleneck, str]]:
        for stall, share in counters.waits()[:1]:
            yield "latency", f"It waits, {share:.0%} of that {stall.reason}. What helps: {stall.way}."

    def _of_a_ceiling(self, limits: Roofline) -> Iterator[tuple[Bottleneck, str]]:
        memory, compute = limits.memory_ms / self.time, limits.compute_ms / self.time
        compute = 0.0 if compute > _BEYOND else compute
        if memory >= max(NEAR, compute):
            yield (
                "memory",
                f"Memory: the declared bytes alone need {memory:.0%} of the time at {limits.memory}. Only moving less "
                "helps much: fewer passes, narrower types, what is read twice kept on the chip.",
            )
        elif compute >= NEAR:
            ways = "fewer operations help" if "tensor" in limits.compute else "fewer operations or faster units help"
            yield (
                "compute",
                f"Arithmetic: the declared operations alone need {compute:.0%} of the time at {limits.compute}. Only "
                f"{ways} much.",
            )

    def _of_the_arrays(self, moved: Moved) -> Iterator[tuple[Bottleneck, str]]:
        if NEAR <= (share := moved.share(self.time)) <= ALL_MOVED:
            yield (
                "memory",
                f"Memory, as it seems: its arrays alone, each read or written once, need {share:.0%} of the time at "
                f"{moved.bandwidth}. Only moving less helps much: narrower types, parts that nothing needs.",
            )

    def _undeclared(self) -> str:
        if self.moved is None:
            return "Not known: without declared work no ceiling can be held against it."
        if (share := self.moved.share(self.time)) > ALL_MOVED:
            return "Not known: it takes less than its arrays would, each read or written once: it needs a part of them."
        return (
            f"Not known: its arrays alone, each read or written once, need {share:.0%} of the time. Whether the rest "
            "is arithmetic or waiting, the operations in `[work]` or a profile would tell."
        )

    def _waiting(self, limits: Roofline) -> str:
        share = limits.share(self.time)
        if limits.limiter == "compute" and share > _BEYOND:
            return (
                f"It does what is declared faster than {limits.compute} allows, by other units or fewer operations, "
                "which wait: for operands (barriers, copies, conflicts of banks) or for other instructions."
            )
        both = f"Neither ceiling: the declared {_WORK[limits.limiter]} need {share:.0%} of the time. "
        if limits.limiter == "memory":
            return both + (
                "Either more is moved than is declared (accesses that do not coalesce, data read more than once), or "
                "too few bytes are under way (narrow loads, one at a time, long chains of dependent work)."
            )
        return both + (
            "The arithmetic waits: for operands (no or little reuse in shared memory and registers, conflicts of "
            "banks, barriers) or for other instructions (addresses, too little independent work in a thread)."
        )


_WORK = {"memory": "bytes", "compute": "operations"}


def _declared_bytes(problem: Problem) -> float:
    return 0.0 if problem.work is None else float(evaluate(problem.work.bytes, problem.sizes))


def _facts(measured: _Measured, problem: Problem) -> Iterator[str]:
    threads = math.prod(measured.launch.block)
    line = f"launch: {measured.blocks} blocks of {threads} threads"
    if measured.held is not None:
        line += (
            f"; a multiprocessor holds {measured.held.blocks} of them, {measured.held.warps} of "
            f"{measured.held.max_warps} warps, limited by {' and '.join(measured.held.limiters)}"
        )
    if measured.filled is not None:
        rounds = measured.filled.blocks / measured.filled.resident
        line += f"; the grid fills the device {rounds:.3g} times"
    yield line
    limits, time = measured.limits, measured.time
    if problem.work is not None and limits is not None:
        moved, operations = (float(evaluate(each, problem.sizes)) for each in (problem.work.bytes, problem.work.flops))
        yield (
            f"achieved, of what is declared: {moved / time / 1e6:.4g} GB/s, {limits.memory_ms / time:.0%} of "
            f"{limits.memory}; {operations / time / 1e9:.4g} TFLOP/s in {limits.dtype}, {limits.compute_ms / time:.0%} "
            f"of {limits.compute}"
        )
    if (arrays := measured.moved) is not None:
        yield (
            f"achieved, if each array is read or written once: {arrays.nbytes / time / 1e6:.4g} GB/s, "
            f"{arrays.share(time):.0%} of {arrays.bandwidth}"
        )
    counted_bytes = None if measured.counters is None else measured.counters.moved
    if counted_bytes and measured.device.memory_gbs:
        least, bandwidth = traffic_ms(problem, measured.device, counted_bytes)
        yield f"achieved, as counted: {counted_bytes / time / 1e6:.4g} GB/s, {least / time:.0%} of {bandwidth}"
