"""The unit of times on the screen."""

from __future__ import annotations

from tui_tuner.evaluate.results import DeviceInfo


def time_label(device: DeviceInfo | None) -> str:
    """The unit over a column of times: CPU times and recorded ones say so."""
    if device is not None and device.kind == "recorded":
        return "ms (recorded)"
    if device is None or not device.cpu_times:
        return "ms"
    return "CPU ms (emulator)" if device.kind == "emulator" else "CPU ms"
