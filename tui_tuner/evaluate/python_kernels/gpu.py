"""Which GPU a kernel in Python runs on: torch sees one only, so that it is the first for the user's file."""

from __future__ import annotations

import os

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.kinds import DeviceChoice, kind_named

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible_gpu(device: str) -> dict[str, str]:
    """Variables for the kernel's process.

    Args:
        device: as the user names it, "auto", "cuda", "cuda:1".

    Raises:
        DeviceError: it is no CUDA device.
    """
    if device.strip().lower() == "auto":
        return {}
    choice = DeviceChoice.parse(device)
    if "python" not in kind_named(choice.kind).languages or choice.backend != "auto":
        hint = "leave --device out, or name one as in cuda:1"
        raise DeviceError(f"a kernel in Python runs on a CUDA GPU, not on '{device}'", hint=hint)
    seen = [name for name in os.environ.get(_VISIBLE, "").split(",") if name.strip()]
    if seen and choice.index >= len(seen):
        raise DeviceError(f"there is no {device}", hint=f"{_VISIBLE} shows {len(seen)}")
    return {_VISIBLE: seen[choice.index] if seen else str(choice.index)}
