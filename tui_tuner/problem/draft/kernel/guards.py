"""Whether a kernel can do with more threads than there are elements, as where no block divides these."""

from __future__ import annotations

import re

from tui_tuner.problem.signature import KernelSignature

_GUARD = re.compile(r"\bif\b|\bwhile\b|\bfor\s*\([^;]*;\s*\w+\s*<[\s(]*\w+[\s)]*;\s*\w+\s*\+=")
_COUNTED = re.compile(r"(?<!\+=)(?<!\+= )\bget_global_size\s*\(\s*([012])\s*\)")
"""Where work-items are counted, and not how far it is to the next element of one."""


def is_guarded(signature: KernelSignature) -> bool:
    """Whether the kernel looks as if it could do with sizes that no block divides."""
    return _GUARD.search(signature.body) is not None and not counted_axes(signature)


def counted_axes(signature: KernelSignature) -> frozenset[int]:
    """The axes along which an OpenCL kernel takes the count of its work-items for a size, by `get_global_size`."""
    return frozenset(map(int, _COUNTED.findall(signature.body)))
