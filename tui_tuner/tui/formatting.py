"""The unit of times on the screen."""

from __future__ import annotations

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo


def time_label(device: DeviceInfo | None) -> str:
    """The unit over a column of times: CPU times and recorded ones say so."""
    return "ms" if device is None else kind_named(device.kind).time_label(device)
