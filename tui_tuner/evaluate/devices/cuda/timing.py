"""Timing of launches with pairs of events, and the GPU's clock and what holds it down."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from tui_tuner.evaluate.devices.base import LEAST_FLUSH_BYTES, POWER_CAP, ClockSample
from tui_tuner.evaluate.devices.cuda.backends import CudaBackend, EventPair
from tui_tuner.evaluate.devices.cuda.driver import Driver

BATCH = 20
"""Launches queued before the next wait."""
FLUSH_FACTOR = 4
"""Twice the L2 cache evicts it; twice that again keeps the device busy while the host queues what is timed."""
AHEAD, FEW, RESTED_S = 8, 2, 0.002
"""Fills before the first launch of a batch of few, or of a host that has waited so long. Such a host takes longer to
queue a launch than one fill lasts (50 us and more on an H200), and a device that waits for it counts that as the
launch's time; among many it is one."""


class CudaTimer:
    """Times what is launched on one backend's stream.

    How soon a kernel begins depends on how many launches and copies there were before it: on an H100 (driver 580) the
    same few elements take 3.8, 4.1, 4.4 or 5.1 us, by the rest of that number divided by 4. Where each launch that is
    timed has as many about it, all of them have the same rest, and the next time another. So every fourth has one copy
    more before it: of 16 each rest has four, however many there are about each.

    Args:
        l2_bytes: size of the L2 cache.
        now: tells the seconds that go by.
    """

    def __init__(
        self, driver: Driver, backend: CudaBackend, l2_bytes: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._driver = driver
        self._backend = backend
        self._pairs: list[EventPair] = []
        self._flush_bytes = max(LEAST_FLUSH_BYTES, FLUSH_FACTOR * l2_bytes) // 4 * 4
        self._scratch = driver.allocate(self._flush_bytes)
        self._timed = 0
        self._now = now
        self._queued = 0.0

    def time(
        self,
        count: int,
        before: Callable[[], None],
        launch: Callable[[], None],
        after: Callable[[], None] = lambda: None,
        warm: Callable[[], None] = lambda: None,
    ) -> list[float]:
        """Times of `count` launches, ms.

        Args:
            before: queues what comes before each launch and is not timed.
            launch: queues the launch.
            after: queues what comes after it and is not timed.
            warm: queues what comes between the clearing of the cache and the launch.

        Raises:
            CudaError: a launch failed on the device.
            Exception: whatever the backend raises when it refuses a launch.
        """
        times: list[float] = []
        while len(times) < count:
            times += self._batch(min(BATCH, count - len(times)), before, launch, after, warm)
        return times

    def _batch(
        self,
        count: int,
        before: Callable[[], None],
        launch: Callable[[], None],
        after: Callable[[], None],
        warm: Callable[[], None],
    ) -> list[float]:
        pairs = self._take(count)
        is_late = count <= FEW or self._now() - self._queued > RESTED_S
        for _ in range(AHEAD if is_late else 0):
            self._driver.fill_async(self._scratch, self._flush_bytes, self._backend.stream_handle)
        for pair in pairs:
            before()
            self._timed += 1
            if self._timed % 4 == 0:
                self._driver.copy_async(self._scratch, self._scratch + 4, 4, self._backend.stream_handle)
            self._driver.fill_async(self._scratch, self._flush_bytes, self._backend.stream_handle)
            warm()
            self._backend.start, self._backend.end = pair.start, pair.end
            self._backend.start_event()
            launch()
            self._backend.stop_event()
            after()
        self._queued = self._now()
        self._driver.synchronize()
        return [self._backend.elapsed_ms(pair) for pair in pairs]

    def _take(self, count: int) -> list[EventPair]:
        while len(self._pairs) < count:
            self._pairs.append(self._backend.event_pair())
        return self._pairs[:count]


REASONS = {
    0x4: POWER_CAP,
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""Bits of NVML's event reasons that slow a kernel down; idle and application settings do not count."""


def reasons_in(bits: int) -> tuple[str, ...]:
    """The reasons whose bits are set."""
    return tuple(text for bit, text in REASONS.items() if bits & bit)


class NvmlProcess(Protocol):
    """A process as NVML tells it; the memory is None where it is not told."""

    pid: int
    usedGpuMemory: int | None  # noqa: N815


class Nvml(Protocol):
    """The part of the module pynvml that is used."""

    NVML_CLOCK_SM: int
    NVML_TEMPERATURE_GPU: int
    NVMLError: type[Exception]

    def nvmlDeviceGetClockInfo(self, handle: object, type: int) -> int:  # noqa: N802, A002
        """A clock, MHz."""
        ...

    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int:  # noqa: N802
        """Degrees Celsius."""
        ...

    def nvmlDeviceGetComputeRunningProcesses(self, handle: object) -> Sequence[NvmlProcess]:  # noqa: N802
        """Processes with a context on the GPU."""
        ...

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> int:  # noqa: N802
        """Bits of reasons."""
        ...


_GPU_IS_LOST = 15
"""NVML_ERROR_GPU_IS_LOST."""


class ClockSampler:
    """Samples one GPU, and tells who else uses it."""

    def __init__(self, nvml: Nvml, handle: object) -> None:
        self._nvml = nvml
        self._handle = handle

    def sample(self) -> ClockSample | None:
        """The present state, or None where the GPU does not tell."""
        try:
            mhz = self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM)
            bits = self._nvml.nvmlDeviceGetCurrentClocksEventReasons(self._handle)
        except self._nvml.NVMLError:
            return None
        return ClockSample(int(mhz), reasons_in(int(bits)), self._temperature())

    def _temperature(self) -> int | None:
        try:
            return int(self._nvml.nvmlDeviceGetTemperature(self._handle, self._nvml.NVML_TEMPERATURE_GPU))
        except self._nvml.NVMLError:
            return None

    def is_lost(self) -> bool:
        """Whether nothing reaches the GPU any more, as after it fell off the bus."""
        try:
            self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM)
        except self._nvml.NVMLError as error:
            return getattr(error, "value", None) == _GPU_IS_LOST
        return False

    def users(self) -> dict[int, str]:
        """Processes that compute on it, each in words, as in "python (process 4711, 12.1 GiB)".

        In a container they may have other numbers than here, this one too.
        """
        try:
            found = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        except self._nvml.NVMLError:
            return {}
        return {one.pid: _process_words(one.pid, one.usedGpuMemory) for one in found}


def _process_words(pid: int, nbytes: int | None) -> str:
    name = "a process"
    with suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text("utf-8", errors="replace").strip()
    return f"{name} (process {pid}{f', {nbytes / 2**30:.1f} GiB' if nbytes else ''})"


def open_clock(pci_bus_id: str) -> ClockSampler | None:
    """The clock of the GPU at this place, or None without NVML."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        return ClockSampler(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id))
    except pynvml.NVMLError:
        return None
