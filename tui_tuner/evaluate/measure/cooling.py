"""Times that a device took while it was held down for its heat do not count."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from tui_tuner.evaluate.devices.base import ClockSample
from tui_tuner.evaluate.measure.timing import TimeLaunches
from tui_tuner.evaluate.results import Timing

COOLING_S = 0.1
COOLING_LIMIT_S = 10.0
SEEN_S = 0.1
"""How long what the device says of its clock and its heat holds: asking it takes milliseconds."""


class Cooling:
    """Takes times anew that a device took while it was held down for its heat, once it has cooled.

    A device that does not recover within `COOLING_LIMIT_S` is not waited for again before it has.

    Args:
        sample: the present clock, where the device tells it.

    Attributes:
        dropped: times that do not count.
    """

    def __init__(
        self,
        sample: Callable[[], ClockSample | None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sample = sample
        self._sleep = sleep
        self._seen: tuple[float, ClockSample | None] = (-math.inf, None)
        self._waited_s = 0.0
        self.dropped = 0

    def _now(self) -> ClockSample | None:
        """The device's present state, as it was up to `SEEN_S` ago; always asked for anew while it is held down."""
        at, seen = self._seen
        if time.monotonic() - at > SEEN_S or (seen is not None and seen.is_held_down):
            self._seen = time.monotonic(), self._sample()
        return self._seen[1]

    def minded(self, launches: TimeLaunches) -> TimeLaunches:
        """The same launches, of which only those count that ran at a clock of their own."""

        def cooled(count: int) -> list[float]:
            while True:
                times = launches(count)
                now = self._now()
                if now is None or not now.is_held_down:
                    self._waited_s = 0.0
                    return times
                if self._waited_s >= COOLING_LIMIT_S:
                    return times
                self.dropped += len(times)
                self._sleep(COOLING_S)
                self._waited_s += COOLING_S

        return cooled

    def marked(self, timing: Timing) -> Timing:
        """A time with the clock and the temperature of now, and what was dropped since this was asked last."""
        now, dropped = self._now(), self.dropped
        self.dropped = 0
        if now is None:
            return timing
        state = {"clock_mhz": now.sm_mhz, "throttled_by": now.throttled_by, "temperature_c": now.temperature_c}
        return timing.model_copy(update={**state, "dropped": dropped})
