"""Times of launches with pairs of CUDA events: a cold cache, and a queue that is full before the first launch."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from tui_tuner.evaluate.devices.cuda.timing import BATCH, FLUSH_FACTOR, LEAST_FLUSH_BYTES
from tui_tuner.evaluate.measure import TimeLaunches

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
