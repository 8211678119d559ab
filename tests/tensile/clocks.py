"""Clocks of runs that do not depend on how fast the machine is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tui_tuner.processes.child import Child
from tui_tuner.tensile.running.run import RunClock, ended_within

STEP_S = 0.001


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
        end = asyncio.ensure_future(ended_within(child, None))
        while not end.done() and not (self._hangs is not None and self._hangs.exists()):
            await asyncio.wait({end}, timeout=0.02)
        if end.done():
            return True
        end.cancel()
        assert self._hangs is not None
        self._hangs.unlink()
        self._now += limit_s or 0.0
        return False
