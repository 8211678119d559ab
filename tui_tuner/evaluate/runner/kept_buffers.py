"""Device memory of the data that every candidate of a problem is launched with: filled once, and kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tui_tuner.errors import MachineError
from tui_tuner.evaluate.devices.base import Buffers, Device, DeviceFault
from tui_tuner.evaluate.verify.launch_data import LaunchData
from tui_tuner.evaluate.verify.launches import ResultMismatch
from tui_tuner.problem.textures import Texture

NO_MEMORY = "end other programs that use it, or choose smaller [sizes]"


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
        """Buffers whose rear (even tests, and what is timed) or front (odd tests) lies against a guard."""
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
        guard_end = (data.index % 2 == 0 or data.index == self._timed) != turned
        try:
            return self._device.allocate(data.arguments, self._outputs, guard_end=guard_end)
        except DeviceFault as fault:
            if fault.fatal or "MEMORY" not in fault.message:
                raise
            if not self._kept:  # there was room when the session began
                others = self._device.others()
                hint = f"{NO_MEMORY}; others that use the device: {', '.join(others)}" if others else NO_MEMORY
                raise MachineError(f"the device has no memory left: {fault.message}", hint=hint) from fault
        for buffers in self._kept.values():
            self._device.free(buffers)
        self._kept.clear()
        return self._allocated(data, turned=turned)
