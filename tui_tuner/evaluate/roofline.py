"""The roofline: no launch can be faster than its bytes or its operations allow.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009. The ceilings are measured on the device, not taken from a data sheet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.model import Work

IMPOSSIBLE_SHARE = 1.5
"""A launch this much faster than its bytes allow has not moved them."""


@dataclass(frozen=True)
class Roofline:
    """Least time of a launch, ms, by its memory traffic and by its arithmetic."""

    memory_ms: float
    compute_ms: float

    @property
    def bound_ms(self) -> float:
        """The larger of the two."""
        return max(self.memory_ms, self.compute_ms)

    @property
    def limiter(self) -> str:
        """Which of them it is, "memory" or "compute"."""
        return "memory" if self.memory_ms >= self.compute_ms else "compute"

    def share(self, milliseconds: float) -> float:
        """How much of the roofline a time reaches, 0 to 1."""
        return self.bound_ms / milliseconds

    def impossible(self, milliseconds: float) -> bool:
        """Whether a time is below what moving the bytes takes."""
        return self.memory_ms > IMPOSSIBLE_SHARE * milliseconds


def roofline(work: Work | None, sizes: Mapping[str, int], device: DeviceInfo) -> Roofline | None:
    """The roofline of a problem on a device; None without `[work]` or without measured ceilings."""
    if work is None or device.memory_gbs is None or device.flops_gflops is None:
        return None
    moved = float(evaluate(work.bytes, sizes))
    operations = float(evaluate(work.flops, sizes))
    limits = Roofline(memory_ms=moved / device.memory_gbs / 1e6, compute_ms=operations / device.flops_gflops / 1e6)
    return limits if limits.bound_ms > 0 else None
