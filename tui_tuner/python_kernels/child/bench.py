"""Checking and timing of one kernel on the device with pairs of CUDA events, inside the kernel's process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils._pytree import tree_map

from tui_tuner.evaluate.devices.base import LEAST_FLUSH_BYTES
from tui_tuner.evaluate.devices.cuda.timing import BATCH, FLUSH_FACTOR
from tui_tuner.evaluate.measure.timing import Patience, TimeLaunches, interleaved, measure
from tui_tuner.evaluate.results import Comparison, FailureKind
from tui_tuner.evaluate.runner.protocol import SayPhase
from tui_tuner.evaluate.tolerance import Bound
from tui_tuner.problem.model import Tolerance
from tui_tuner.python_kernels import KernelEvaluationAnswer
from tui_tuner.python_kernels.child.data import (
    Data,
    Launches,
    bound,
    copied,
    deviation,
    geometry_of,
    own_errors,
    poison,
    resources_of,
)
from tui_tuner.python_kernels.child.further import Further, further_arguments
from tui_tuner.python_kernels.child.kernel import (
    Arguments,
    KernelFault,
    ReadyKernel,
    ReportLaunch,
    TunableKernel,
    failure,
    launch_fault,
    tensors_of,
)

LIMIT_S = 20.0
"""Time limit of a launch that nothing is known about; of others many times what the default configuration takes."""
LIMIT_FACTOR = 200.0
Make = Callable[[int], Arguments]
Refer = Callable[[Arguments], object | None]


def unreported(compiled: object, grid: Sequence[int]) -> None:
    """What nobody wants to know of a launch."""


def launched(kernel: ReadyKernel, data: Data, report: ReportLaunch) -> list[torch.Tensor]:
    """What a launch returns, once it has ended.

    Raises:
        KernelFault: it fails.
    """
    try:
        returned = kernel.launch(data.working, report)
        torch.cuda.synchronize()
    except Exception as error:
        error.__traceback__ = None  # its frames would hold tensors
        raise error if isinstance(error, KernelFault) else launch_fault(error) from None
    return returned


@dataclass(frozen=True)
class _Checked:
    """A launch whose results are right: `error` is the largest share of the allowed one."""

    launches: Launches
    error: float


class PythonKernelBench:
    """Checks and times configurations of one kernel.

    Args:
        make: arguments from a seed.
        refer: the right results for arguments, None without a reference.
        say: tells what is done now and how long it may take, seconds.
    """

    def __init__(self, kernel: TunableKernel, make: Make, refer: Refer, tolerance: Tolerance, say: SayPhase) -> None:
        self._kernel = kernel
        self._make = make
        self._refer = refer
        self._tolerance = tolerance
        self._say = say
        self._timer = EventTimer()
        self._patience = Patience()
        self._limit_s = LIMIT_S
        self._own: list[float | None] = []
        self._data: Data | None = None
        self._given: ReadyKernel | None = None
        self._further: list[Further] | None = None

    def arguments(self, kernel: ReadyKernel) -> list[Arguments]:
        """Those that launches of a kernel get, each of which may be compiled for by itself."""
        return [self._opened.working, *(one.data.working for one in self.further(kernel))]

    def prepare(self, default: ReadyKernel) -> KernelEvaluationAnswer:
        """Run the kernel as given, keep what it gives, check it against the reference, time it.

        Raises:
            ProblemError: it is not near its reference.
        """
        self._given = default
        try:
            self._data = self._fresh(default)
        except KernelFault as fault:
            return KernelEvaluationAnswer(failure=failure(fault), fatal=fault.fatal)
        outcome = self.evaluate(default, None)
        if outcome.timing is not None:
            self._limit_s = LIMIT_S + LIMIT_FACTOR * outcome.timing.median / 1000
        return outcome

    def evaluate(self, kernel: ReadyKernel, best_ms: float | None) -> KernelEvaluationAnswer:
        """Check, time, and check again."""
        start = time.perf_counter()
        try:
            checked = self._check(kernel, self._opened)
            self._check_further(kernel)
            verified = time.perf_counter()
            self._say("timing", self._limit_s)
            timing = measure(self._launches(kernel, self._opened), self._patience, best_ms=best_ms, cpu=False)
            again = self._check(kernel, self._opened)
        except KernelFault as fault:
            return KernelEvaluationAnswer(failure=failure(fault), fatal=fault.fatal)
        return KernelEvaluationAnswer(
            timing=timing,
            resources=resources_of(checked.launches),
            error=max(checked.error, again.error),
            as_written=kernel.as_written,
            verify_ms=(verified - start) * 1000,
            measure_ms=(time.perf_counter() - verified) * 1000,
            geometry=geometry_of(checked.launches),
        )

    def compare(self, incumbent: ReadyKernel, challenger: ReadyKernel, delta: float) -> tuple[Comparison, bool]:
        """Check both on arguments made afresh, time them there, interleaved; whether the device is lost."""
        try:
            data = self._fresh(self._given or incumbent)
            for kernel in (incumbent, challenger):
                self._check(kernel, data)
            self._say("incumbent and challenger in turns", self._limit_s)
            old, new = self._launches(incumbent, data), self._launches(challenger, data)
            pairs = interleaved(old, new, self._patience, delta)
            self._check(challenger, data)
        except KernelFault as fault:
            return Comparison.failed(failure(fault)), fault.fatal
        return pairs.comparison(cpu=False), False

    def machine_code(self, kernel: ReadyKernel, artifact: Path) -> str:
        """Put what a kernel's launch was compiled to into a file; its name there.

        Raises:
            KernelFault: it has several launches, or none.
        """
        launches = kernel.jit_launches(self._opened.working)
        if len(launches) != 1:
            raise KernelFault(FailureKind.INVALID, f"{len(launches)} launches instead of one")
        compiled = launches[0].compiled()
        artifact.write_bytes(compiled.asm["cubin"])
        return str(compiled.name)

    @property
    def _opened(self) -> Data:
        if self._data is None:
            raise RuntimeError("the bench is not prepared")
        return self._data

    def _fresh(self, default: ReadyKernel) -> Data:
        """Arguments made afresh, with what the default configuration and the reference give for them."""
        self._say("making the arguments", LIMIT_S + 60)
        data = Data(self._make(int.from_bytes(os.urandom(4))))
        self._expect(default, data)
        right = self._refer(tree_map(copied, data.pristine))
        self._own = [None] * len(data.expected)
        if right is not None:
            self._own = own_errors(data.expected, tensors_of(right))
            data.expected = [r.to(e.dtype) for r, e in zip(tensors_of(right), data.expected, strict=True)]
        return data

    def _expect(self, given: ReadyKernel, data: Data) -> None:
        """Find out what the kernel as given makes of the arguments."""
        data.renew()
        self._say("the kernel as given", LIMIT_S + 60)
        returned = launched(given, data, unreported)
        if data.overrun() is not None:
            data.guards = []  # as it is the kernel relies on what is around its arguments
        data.written = data.changed()
        mine = tensors_of(data.working)
        data.expected = [copied(tensor) for tensor in [*returned, *(mine[index] for index in data.written)]]
        data.restore()

    def further(self, kernel: ReadyKernel) -> Sequence[Further]:
        """Other arguments that a kernel is checked with besides; none where it is not rewritten.

        Raises:
            KernelFault: the device is lost while they are made.
        """
        if not kernel.is_rewritten or self._given is None:
            return []
        if self._further is None:
            self._further = [*further_arguments(self._kernel, self._given, self._opened, self._expect)]
        return [one for one in self._further if kernel.fits(one.data.pristine)]

    def _check_further(self, kernel: ReadyKernel) -> None:
        for one in self.further(kernel):
            try:
                self._check(kernel, one.data, one.slack)
            except KernelFault as fault:
                fault.message = f"{one.words}: {fault.message}"
                raise

    def _check(self, kernel: ReadyKernel, data: Data, slack: float = 1.0) -> _Checked:
        """Launch once on restored arguments and compare.

        Args:
            slack: so many times the usual error is allowed.
        """
        self._say("the first launch", self._limit_s)
        launches: list[tuple[object, Sequence[int]]] = []
        data.restore()
        poison(data.expected)
        returned = launched(kernel, data, lambda *launch: launches.append(launch))
        got = [*returned, *(tensors_of(data.working)[index] for index in data.written)]
        if harmed := [index for index in data.changed() if index not in data.written]:
            data.renew()
            raise KernelFault(FailureKind.WRONG_RESULT, f"it writes to argument {harmed[0]}, which is an input")
        if (around := data.overrun()) is not None:
            data.renew()
            message = f"it writes outside of argument {around}, the tensors counted from 0"
            raise KernelFault(FailureKind.ILLEGAL_ACCESS, message)
        if len(got) != len(data.expected):
            raise KernelFault(FailureKind.WRONG_RESULT, f"{len(got)} results instead of {len(data.expected)}")
        operations = max((extent for t in tensors_of(data.pristine) for extent in t.shape), default=1)
        largest = 0.0
        for number, (mine, right, own) in enumerate(zip(got, data.expected, self._own, strict=True)):
            allowed = bound(right, operations, self._tolerance, own)
            share, wrong = deviation(mine, right, Bound(allowed.absolute * slack, allowed.relative * slack))
            if wrong is not None:
                where = "" if len(got) == 1 else f"result {number}, "
                raise KernelFault(FailureKind.WRONG_RESULT, f"{where}element {wrong}")
            largest = max(largest, share)
        return _Checked(launches, largest)

    def _launches(self, kernel: ReadyKernel, data: Data) -> Callable[[int], list[float]]:
        timed = self._timer.launches(data.restore, lambda: kernel.launch(data.working, unreported))

        def times(count: int) -> list[float]:
            try:
                return timed(count)
            except Exception as error:
                error.__traceback__ = None
                raise launch_fault(error) from None

        return times


_CLOCK_HZ = 2e9
"""At least as fast as any clock: what the device is kept busy with must not end too early."""
_FIRST_S = 400e-6
"""How long the host takes to queue one launch, before that is known, seconds."""


class EventTimer:
    """Times launches on the current stream."""

    def __init__(self) -> None:
        level_2 = torch.cuda.get_device_properties().L2_cache_size
        size = max(LEAST_FLUSH_BYTES, FLUSH_FACTOR * level_2)
        self._scratch = torch.empty(size, dtype=torch.int8, device="cuda")
        self._host_s = _FIRST_S

    def launches(self, before: Callable[[], None], launch: Callable[[], object]) -> TimeLaunches:
        """Times of so many launches, ms.

        Args:
            before: queues what comes before each launch and is not timed.
            launch: queues the launch.
        """

        def times(count: int) -> list[float]:
            taken: list[float] = []
            while len(taken) < count:
                taken += self._batch(min(BATCH, count - len(taken)), before, launch)
            return taken

        return times

    def _batch(self, count: int, before: Callable[[], None], launch: Callable[[], object]) -> list[float]:
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
        # The device waits until all is queued: host code that is slower than the kernel would be timed else.
        torch.cuda._sleep(int(_CLOCK_HZ * self._host_s * count))
        queued = time.perf_counter()
        for start, end in events:
            before()
            self._scratch.zero_()
            start.record()
            launch()
            end.record()
        self._host_s = min(2 * (time.perf_counter() - queued) / count, 0.005)
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]
