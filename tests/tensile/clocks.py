"""Clocks of runs that do not depend on how fast the machine is."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.processes.child import Child
from tui_tuner.tensile.measure import RunClock, ended_within

STEP_S = 0.001
LOOK_S = 0.02


class OwnTime:
    """Every look at it takes a moment, and waiting for what hangs takes the whole limit.

    Args:
        hangs: a file that appears when the program does nothing any more; None where none will.
    """

    def __init__(self, hangs: Path | None = None) -> None:
        self._hangs = hangs
        self._now = 0.0

    @property
    def clock(self) -> RunClock:
        return RunClock(self._look, self._ended_within)

    def _look(self) -> float:
        self._now += STEP_S
        return self._now

    async def _ended_within(self, child: Child, limit_s: float | None) -> bool:
        if limit_s is None or self._hangs is None:
            return await ended_within(child, None)
        while not await ended_within(child, LOOK_S):
            if self._hangs.exists():
                self._hangs.unlink()
                self._now += limit_s
                return False
        return True
