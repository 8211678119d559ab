"""Timing of launches with pairs of events: cold cache, the queue kept full, one wait for a whole batch."""

from __future__ import annotations

from collections.abc import Callable

from tui_tuner.evaluate.devices.cuda.backends.base import CudaBackend, EventPair
from tui_tuner.evaluate.devices.cuda.driver import Driver

BATCH = 20
"""Launches queued before the next wait."""
LEAST_FLUSH_BYTES = 64 * 2**20
FLUSH_FACTOR = 4
"""Twice the L2 cache evicts it; twice that again keeps the device busy while the host queues what is timed."""


class CudaTimer:
    """Times what is launched on one backend's stream.

    Args:
        l2_bytes: size of the L2 cache.
    """

    def __init__(self, driver: Driver, backend: CudaBackend, l2_bytes: int) -> None:
        self._driver = driver
        self._backend = backend
        self._pairs: list[EventPair] = []
        self._flush_bytes = max(LEAST_FLUSH_BYTES, FLUSH_FACTOR * l2_bytes) // 4 * 4
        self._scratch = driver.allocate(self._flush_bytes)

    def time(self, count: int, before: Callable[[], None], launch: Callable[[], None]) -> list[float]:
        """Times of `count` launches, ms.

        Args:
            before: queues what comes before each launch and is not timed.
            launch: queues the launch.

        Raises:
            CudaError: a launch failed on the device.
            Exception: whatever the backend raises when it refuses a launch.
        """
        times: list[float] = []
        while len(times) < count:
            times += self._batch(min(BATCH, count - len(times)), before, launch)
        return times

    def _batch(self, count: int, before: Callable[[], None], launch: Callable[[], None]) -> list[float]:
        pairs = self._take(count)
        for pair in pairs:
            before()
            self._driver.fill_async(self._scratch, self._flush_bytes, self._backend.stream_handle)
            self._backend.start, self._backend.end = pair.start, pair.end
            self._backend.start_event()
            launch()
            self._backend.stop_event()
        self._driver.synchronize()
        return [self._backend.elapsed_ms(pair) for pair in pairs]

    def _take(self, count: int) -> list[EventPair]:
        while len(self._pairs) < count:
            self._pairs.append(self._backend.event_pair())
        return self._pairs[:count]
