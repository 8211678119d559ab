"""Whether a kernel computes the same bits each time: launched again and again on the same inputs."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from tui_tuner.evaluate.devices.base import Device, LaunchJob, LoadedKernel
from tui_tuner.evaluate.results import Determinism

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
