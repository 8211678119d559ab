"""What a host is told that asks for it: limits of the device, the bytes of a row, how many blocks fit, extents."""

from __future__ import annotations

import re

_OF_DEVICES = {
    "maxThreadsPerBlock": 1024,
    "warpSize": 32,
    "maxThreadsPerMultiProcessor": 2048,
    "cudaDevAttrMaxThreadsPerMultiProcessor": 2048,
    "multiProcessorCount": 128,
    "cudaDevAttrMultiProcessorCount": 128,
    "maxGridSize[0]": 2**31 - 1,
    "maxGridSize[1]": 65535,
    "maxGridSize[2]": 65535,
}
_FITS_IN_EACH, _USUAL = "1", "256"
"""What is taken for how many blocks a multiprocessor holds, which every device can do; for a block, and for a grid."""


def limit_of_devices(name: str) -> int | None:
    """What a device tells of itself in this member or attribute: the same for all, or a usual number."""
    return _OF_DEVICES.get(name.rpartition(".")[2])


def is_of_tensor(text: str) -> bool:
    """Whether text is an extent of a tensor, or how many elements one has, as `x.size(0)` and `x.numel()`."""
    return re.fullmatch(r"\s*\w+(?:\.|->)(?:size\(\d+\)|numel\(\))\s*", text) is not None


def told_of_device(code: str, name: str, start: int, end: int) -> tuple[str, int] | None:
    """What CUDA writes to the address of a name between two places of the code, as text, and where it is asked."""
    given = rf"&\s*{re.escape(name)}\s*"
    asked = "|".join(
        (
            rf"\bcudaMallocPitch\s*\([^;]*?,\s*{given},(?P<row>[^,;]*),",
            rf"\bcudaDeviceGetAttribute\s*\(\s*{given},\s*(?P<attribute>\w+)",
            rf"\bcudaOccupancyMaxActiveBlocks\w+\s*\(\s*(?P<blocks>{given}),",
            rf"\bcudaOccupancyMaxPotentialBlockSize\w*\s*\((?:[^,;]*,)?\s*{given},",
        )
    )
    found = re.compile(asked).search(code, start, end)
    if found is None:
        return None
    text = found["row"] or found["attribute"] or (_FITS_IN_EACH if found["blocks"] else _USUAL)
    return text.strip(), found.start()
