"""Launches of a problem's kernels on one device, each within its time, in memory that is kept; and what they did.

They are checked for guards, inputs and outputs, and for computing the same bits each time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from tui_tuner.errors import MachineError
from tui_tuner.evaluate.devices.base import Buffers, Device, Inspection, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.measure.timing import TimeLaunches
from tui_tuner.evaluate.results import Determinism, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import AS_GIVEN, Executable, LaunchShape, SayPhase
from tui_tuner.evaluate.tolerance import Bound, Verdict, compare
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.format import first_of, time_words
from tui_tuner.problem.compared import compared
from tui_tuner.problem.model import Problem
from tui_tuner.problem.textures import SPREAD, Texture

_NOTHING: Mapping[int, np.ndarray] = {}


class ResultMismatch(Exception):
    """A launch that ran and computed something else.

    Args:
        data: what it was launched with.
        outputs: what it computed, by argument index, where that may tell whose fault it is.
    """

    fatal = False

    def __init__(self, message: str, data: LaunchData, outputs: Mapping[int, np.ndarray] = _NOTHING) -> None:
        super().__init__(message)
        self.data = data
        self.outputs = outputs


def failure_of(fault: DeviceFault | ResultMismatch, where: str = "") -> Failure:
    """What a candidate is told of a launch; `where` comes first."""
    kind = FailureKind.WRONG_RESULT if isinstance(fault, ResultMismatch) else fault.kind
    return Failure(kind=kind, message=f"{where}{fault}")


_NO_MEMORY = "end other programs that use it, or choose smaller [sizes]"


class KeptBuffers:
    """Buffers of a problem on one device, kept as long as all that used them found nothing wrong.

    Args:
        outputs: indices of the arguments that are restored before each launch.
        timed: index of the timed size.
    """

    def __init__(self, device: Device, outputs: frozenset[int], timed: int) -> None:
        self._device = device
        self._outputs = outputs
        self._timed = timed
        self._kept: dict[tuple[int, Texture], Buffers] = {}

    @contextmanager
    def of(self, data: LaunchData, *, is_kept: bool) -> Iterator[Buffers]:
        """Buffers whose rear (even tests, and what is timed) or front (odd tests) lies against a guard; the other side
        where inputs are no noise, so that each size has both."""
        key = data.index, data.texture
        buffers = self._kept.pop(key, None) if is_kept else None
        try:
            yield (buffers := buffers or self._allocated(data))
        except ResultMismatch as wrong:
            is_kept &= wrong.data is not data
            raise
        except BaseException:
            is_kept = False
            raise
        finally:
            if is_kept and buffers is not None:
                self._kept[key] = buffers
            elif buffers is not None:
                self._device.free(buffers)

    def give_back(self, data: LaunchData) -> None:
        """Free what is kept of data that nobody will be launched with any more."""
        if (buffers := self._kept.pop((data.index, data.texture), None)) is not None:
            self._device.free(buffers)

    @contextmanager
    def turned(self, data: LaunchData) -> Iterator[Buffers]:
        """Buffers whose other side lies against a guard: what a wrong launch reads there may be why it is wrong."""
        buffers = self._allocated(data, turned=True)
        try:
            yield buffers
        finally:
            self._device.free(buffers)

    def _allocated(self, data: LaunchData, *, turned: bool = False) -> Buffers:
        """New buffers; those that are kept give way where there is no room beside them."""
        of_noise = data.index % 2 == 0 or data.index == self._timed
        guard_end = (of_noise == (data.texture is Texture.NOISE)) != turned
        try:
            return self._device.allocate(data.arguments, self._outputs, guard_end=guard_end)
        except DeviceFault as fault:
            if fault.fatal or "MEMORY" not in fault.message:
                raise
            if not self._kept:  # there was room when the session began
                others = self._device.others()
                hint = f"{_NO_MEMORY}; others that use the device: {first_of(others)}" if others else _NO_MEMORY
                raise MachineError(f"the device has no memory left: {fault.message}", hint=hint) from fault
        for buffers in self._kept.values():
            self._device.free(buffers)
        self._kept.clear()
        return self._allocated(data, turned=turned)


FIRST_LIMIT_S = 60.0
"""Limit of a launch before the kernel as given has been timed, and of that kernel itself."""
LIMIT_S, LIMIT_FACTOR = 3.0, 50.0
"""What the launch of a candidate may take, seconds, and how many times as long as that of the kernel as given."""
DATA_LIMIT_S = 300.0
"""Limit of what happens on the host between launches: inputs, the user's reference, checks of outputs."""
NEAR, MORE_DRAWS = 0.5, 4
"""From which share of the allowed deviation on what stays within does by chance, and how many more inputs it has."""
_LAUNCHES = 5
"""How often a kernel is launched to see whether it computes the same bits each time."""


class CheckedLaunches:
    """Launches and checks; used from one thread.

    Args:
        say: told what begins, and what it may take, in seconds.

    Attributes:
        limit_s: of one launch.
        given_limit_s: of one of the kernel as given.
        kept: data whose arrays stay in memory.
        memory: where they are.
    """

    def __init__(
        self, device: Device, problem: Problem, say: SayPhase, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._device = device
        self._problem = problem
        self._say = say
        self._clock = clock
        self._given_s: dict[str, float] = {}
        self._outputs = frozenset(i for i, argument in enumerate(problem.arguments) if argument.output)
        self.memory = KeptBuffers(device, self._outputs, len(problem.tests))
        self.limit_s = self.given_limit_s = FIRST_LIMIT_S
        self.kept: Sequence[LaunchData] = ()

    @contextmanager
    def loaded(self, executable: Executable) -> Iterator[LoadedKernel]:
        """A fresh load of the module, in which nothing is left of other launches."""
        kernel = self._device.load(Path(executable.artifact), executable.symbol)
        try:
            yield kernel
        finally:
            self._device.unload(kernel)

    def buffers(self, data: LaunchData) -> AbstractContextManager[Buffers]:
        """Memory that holds the data; that of data which every candidate sees is kept."""
        return self.memory.of(data, is_kept=self.keeps(data))

    def keeps(self, data: LaunchData) -> bool:
        """Whether every candidate sees the data."""
        return any(data is one for one in self.kept)

    def launch(self, kernel: LoadedKernel, buffers: Buffers, shape: LaunchShape, what: str) -> None:
        """One launch, with what it is for in words; raises `DeviceFault`."""
        self._say(what, self.limit_s)
        self._device.launch(kernel, buffers, shape.geometry, self.limit_s)

    def launch_given(self, kernel: LoadedKernel, buffers: Buffers, shape: LaunchShape, label: str) -> None:
        """One launch of the kernel as given, on data with this label; raises `DeviceFault`."""
        self._say(f"{AS_GIVEN} at {label}", self.given_limit_s)
        began = self._clock()
        self._device.launch(kernel, buffers, shape.geometry, self.given_limit_s)
        self._given_s[label] = max(self._clock() - began, self._given_s.get(label, 0.0))

    def _limit_at(self, data: LaunchData) -> float:
        """Of one launch on such data: the kernel as given may take longer there than on noise, as may others then."""
        return max(self.limit_s, LIMIT_FACTOR * self._given_s.get(data.label, 0.0))

    def _verifying(self, data: LaunchData) -> str:
        """What a launch is for, with what the kernel as given took: who does not end in time may only be slow."""
        given_s = None if self._device.info.is_cpu else self._given_s.get(data.label)
        beside = "" if given_s is None else f" (the kernel as given: {time_words(1000 * given_s)})"
        return f"verify at {data.label}{beside}"

    def timer(
        self, kernel: LoadedKernel, buffers: Buffers, shape: LaunchShape, what: str, inspect: Inspection | None
    ) -> TimeLaunches:
        """What times launches that are for this, in words; raises what `Device.time` raises."""

        def launches(count: int) -> list[float]:
            limit = self.limit_s + self.limit_s * count / 10
            self._say(what, limit)
            return self._device.time(kernel, buffers, shape.geometry, count, limit, inspect)

        return launches

    def check(self, data: LaunchData, buffers: Buffers) -> float:
        """The largest deviation of an output relative to the allowed one.

        Raises:
            DeviceFault: it wrote outside of its arrays.
            ResultMismatch: it changed an input, or an output is wrong.
        """
        self._say(f"check at {data.label}", DATA_LIMIT_S)
        if (spoilt := self.spoilt(data, buffers)) is not None:
            raise spoilt
        error, wrong = data.check(self._problem, partial(self._compare, buffers), partial(self.compared, buffers))
        if wrong is not None:
            is_kept = data.texture in SPREAD
            raise ResultMismatch(wrong, data, {i: self.compared(buffers, i) for i in data.expected if is_kept})
        return error

    def compared(self, buffers: Buffers, index: int) -> np.ndarray:
        """What is compared of the output at an argument's index."""
        return compared(self._problem.arguments[index], self._device.download(buffers, index))

    def _compare(self, buffers: Buffers, index: int, expected: np.ndarray, allowed: Bound) -> Verdict:
        """On the device, where each element is compared for itself."""
        if self._problem.arguments[index].compare is None:
            return self._device.compare(buffers, index, expected, allowed)
        return compare(self.compared(buffers, index), expected, allowed)

    def spoilt(self, data: LaunchData, buffers: Buffers) -> DeviceFault | ResultMismatch | None:
        """What a launch did to memory that is not its own to write: beside arrays, or to its inputs."""
        violation = self._device.guard_violation(buffers)
        if violation is not None:
            return violation.at(data.label)
        changed = self._device.changed(buffers, sorted(data.arrays - self._outputs))
        if changed is not None:
            name = self._problem.arguments[changed].name
            return ResultMismatch(f"at {data.label}: it changed its input '{name}'", data)
        return None

    def verify(self, kernel: LoadedKernel, sets: Sequence[LaunchData], executable: Executable) -> float:
        """Launch with each, one after the other in one load of the module; the largest deviation."""
        error = 0.0
        with ExitStack() as held:
            jobs = [(held.enter_context(self.buffers(d)), executable.shapes[d.index].geometry) for d in sets]
            most_s = max(map(self._limit_at, sets), default=self.limit_s)
            running = held.enter_context(closing(self._device.launch_each(kernel, jobs, most_s)))
            for data, (buffers, _) in zip(sets, jobs, strict=True):
                self._say(self._verifying(data), self._limit_at(data))
                next(running)
                error = max(error, self.check(data, buffers))
        return error

    def verify_loaded(self, sets: Sequence[LaunchData], executable: Executable) -> float:
        """As `verify`, in a load of its own."""
        with self.loaded(executable) as kernel:
            return self.verify(kernel, sets, executable)

    def verify_drawn(self, executable: Executable, draw: Callable[[], Sequence[LaunchData]]) -> None:
        """Launch with data drawn anew, and where it comes near to what is allowed with more: it may pass by chance."""
        is_near = self.verify_loaded(draw(), executable) > NEAR
        for _ in range(MORE_DRAWS if is_near else 0):
            self.verify_loaded(draw(), executable)

    def verify_changed(
        self, kernel: LoadedKernel, buffers: Buffers, executable: Executable, sets: Sequence[LaunchData]
    ) -> None:
        """Launch with one after the other in the same memory and load: what a kernel keeps of the first shows."""
        job = buffers, executable.shapes[sets[0].index].geometry
        with closing(self._device.launch_each(kernel, [job] * len(sets), self.limit_s)) as running:
            for data in sets:
                buffers = self._device.rewrite(buffers, data.arguments)
                self._say(f"verify at {data.label}", self.limit_s)
                next(running)
                self.check(data, buffers)

    def reason(self, fault: DeviceFault | ResultMismatch, executable: Executable) -> DeviceFault | ResultMismatch:
        """The fault, or what is behind it: that a launch leaves its arrays, which only the other side's guard shows."""
        if isinstance(fault, DeviceFault):
            return fault
        data, geometry = fault.data, executable.shapes[fault.data.index].geometry
        self._say(f"once more at {data.label}", self._limit_at(data))
        with self.loaded(executable) as kernel, self.memory.turned(data) as buffers:
            try:
                self._device.launch(kernel, buffers, geometry, self._limit_at(data))
            except DeviceFault as other:
                if other.kind is FailureKind.ILLEGAL_ACCESS:
                    return other.at(data.label)
        return fault

    def determinism(self, kernel: LoadedKernel, buffers: Buffers, shape: LaunchShape) -> Determinism:
        """Launch a few times, each on restored arrays, and compare what is written bit by bit.

        The emulator runs blocks and threads in another order each time.

        Raises:
            DeviceFault: a launch failed.
        """
        self._say("the same inputs again", DATA_LIMIT_S + _LAUNCHES * self.limit_s)
        first: dict[int, np.ndarray] = {}
        digest = differing = 0
        jobs = [(buffers, shape.geometry)] * _LAUNCHES
        with closing(self._device.launch_each(kernel, jobs, self.limit_s)) as running:
            for _ in running:
                if not first:
                    first = {index: self._device.download(buffers, index) for index in sorted(buffers.restored)}
                    digest = self._device.digest(buffers)
                elif self._device.digest(buffers) != digest:
                    there = sum(_differing(self._device.download(buffers, i), was) for i, was in first.items())
                    differing = max(differing, there)
        elements = sum(array.size for array in first.values())
        return Determinism(launches=_LAUNCHES, differing=differing, elements=elements)


def _differing(now: np.ndarray, then: np.ndarray) -> int:
    """Elements with other bits."""
    one, other = (np.ascontiguousarray(array).reshape(-1) for array in (now, then))
    rows = (array.view(np.uint8).reshape(one.size, one.itemsize) for array in (one, other))
    return int(np.count_nonzero(np.any(np.not_equal(*rows), axis=1)))
