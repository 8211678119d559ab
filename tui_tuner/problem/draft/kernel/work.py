"""How much a kernel seems to do."""

from __future__ import annotations

import re

from tui_tuner.problem.signature import KernelSignature


def loops_of(signature: KernelSignature) -> int:
    """How many loops a kernel has, within each other or not, but for those over the threads of the grid."""
    over_grid = r"\bfor\s*\([^;]*;[^;]*;[^;)]*\+=[^;)]*\bgridDim\b"
    return len(re.findall(r"\b(?:for|while)\b", signature.body)) - len(re.findall(over_grid, signature.body))


def work_of(signature: KernelSignature) -> int:
    """How much a kernel seems to do: loops first, then what it says."""
    return 1000 * loops_of(signature) + len(re.findall(r"\w+", signature.body))
