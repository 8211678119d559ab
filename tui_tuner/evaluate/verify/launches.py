"""What launches did: to guards, inputs and outputs, and whether they compute the same bits each time."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import numpy as np

from tui_tuner.evaluate.devices.base import Buffers, Device, DeviceFault, LaunchJob, LoadedKernel
from tui_tuner.evaluate.results import Determinism, Failure, FailureKind
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.model import Problem


class ResultMismatch(Exception):
    """A launch that ran and computed something else.

    Args:
        data: what it was launched with.
    """

    fatal = False

    def __init__(self, message: str, data: LaunchData) -> None:
        super().__init__(message)
        self.data = data


def check_launch(device: Device, problem: Problem, data: LaunchData, buffers: Buffers) -> float:
    """The largest deviation of an output relative to the allowed one.

    Raises:
        DeviceFault: it wrote outside of its arrays.
        ResultMismatch: it changed an input, or an output is wrong.
    """
    violation = device.guard_violation(buffers)
    if violation is not None:
        raise DeviceFault(FailureKind.ILLEGAL_ACCESS, f"at {data.label}: {violation}")
    outputs = [index for index, argument in enumerate(problem.arguments) if argument.output]
    changed = device.changed(buffers, sorted(data.arrays.difference(outputs)))
    if changed is not None:
        raise ResultMismatch(f"at {data.label}: it changed its input '{problem.arguments[changed].name}'", data)
    error, wrong = data.check(problem, partial(device.compare, buffers), partial(device.download, buffers))
    if wrong is not None:
        raise ResultMismatch(wrong, data)
    return error


def overrun(
    device: Device, kernel: LoadedKernel, geometry: Geometry, data: LaunchData, buffers: Buffers, limit_s: float
) -> DeviceFault | None:
    """How a launch leaves the arrays of these buffers, in a way that faults; None where it does not."""
    try:
        device.launch(kernel, buffers, geometry, limit_s)
    except DeviceFault as fault:
        if fault.kind is FailureKind.ILLEGAL_ACCESS:
            return DeviceFault(fault.kind, f"at {data.label}: {fault.message}", fatal=fault.fatal)
    return None


def failure_of(fault: DeviceFault | ResultMismatch, where: str = "") -> Failure:
    """What a candidate is told of a launch; `where` comes first."""
    kind = FailureKind.WRONG_RESULT if isinstance(fault, ResultMismatch) else fault.kind
    return Failure(kind=kind, message=f"{where}{fault}")


LAUNCHES = 5


def determinism(device: Device, kernel: LoadedKernel, job: LaunchJob, limit_s: float) -> Determinism:
    """Launch a few times, each on restored arrays, and compare what is written bit by bit; `limit_s` is for each.

    The emulator runs blocks and threads in another order each time.

    Raises:
        DeviceFault: a launch failed.
    """
    buffers, _ = job
    first: dict[int, np.ndarray] = {}
    digest = differing = 0
    with closing(device.launch_each(kernel, [job] * LAUNCHES, limit_s)) as running:
        for _ in running:
            if not first:
                first = {index: device.download(buffers, index) for index in sorted(buffers.restored)}
                digest = device.digest(buffers)
            elif device.digest(buffers) != digest:
                there = sum(_differing(device.download(buffers, index), was) for index, was in first.items())
                differing = max(differing, there)
    return Determinism(launches=LAUNCHES, differing=differing, elements=sum(array.size for array in first.values()))


def _differing(now: np.ndarray, then: np.ndarray) -> int:
    """Elements with other bits."""
    one, other = (np.ascontiguousarray(array).reshape(-1) for array in (now, then))
    rows = (array.view(np.uint8).reshape(one.size, one.itemsize) for array in (one, other))
    return int(np.count_nonzero(np.any(np.not_equal(*rows), axis=1)))
