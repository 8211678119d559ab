"""The GPU's present clock and what holds it down, through NVML where nvidia-ml-py is installed."""

from __future__ import annotations

from typing import Protocol

from tui_tuner.evaluate.devices.base import ClockSample

REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""Bits of NVML's event reasons that slow a kernel down; idle and application settings do not count."""


def reasons_in(bits: int) -> tuple[str, ...]:
    """The reasons whose bits are set."""
    return tuple(text for bit, text in REASONS.items() if bits & bit)


class Nvml(Protocol):
    """The part of the module pynvml that is used."""

    NVML_CLOCK_SM: int
    NVMLError: type[Exception]

    def nvmlDeviceGetClockInfo(self, handle: object, type: int) -> int:  # noqa: N802, A002
        """A clock, MHz."""
        ...

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> int:  # noqa: N802
        """Bits of reasons."""
        ...


class ClockSampler:
    """Samples one GPU."""

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
        return ClockSample(int(mhz), reasons_in(int(bits)))


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
