"""Seconds since a session began, the pauses between a stop and its resume left out."""

from __future__ import annotations

import time


class Clock:
    """Shows the recorded time while known effects are gone through, and runs on from there.

    Args:
        last: seconds of the last record; the clock runs on from it.
    """

    def __init__(self, last: float) -> None:
        self._base = last
        self._started: float | None = None
        self._shown = 0.0

    def show(self, elapsed: float) -> None:
        """Show the time of a record."""
        self._shown = max(self._shown, elapsed)

    def go_on(self) -> None:
        """Start to run, at the first effect that is not known."""
        if self._started is None:
            self._started = time.monotonic()

    @property
    def runs(self) -> bool:
        """Whether it runs on from the last record."""
        return self._started is not None

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        if self._started is None:
            return self._shown
        return self._base + time.monotonic() - self._started
