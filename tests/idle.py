"""When a program in this event loop has nothing left to do, however slow the machine is."""

from __future__ import annotations

import asyncio
import math

from textual._context import active_app

FRAME_S = 1 / 50
"""What is due within it, such as the next refresh of a screen, is still to come; longer timers are not waited for."""
MOST_TIMERS = 100
"""So many are waited for: one that repeats itself for ever holds nobody up."""


async def until_idle(_shortest_s: float = 0.0, _longest_s: float = 0.0) -> None:
    """Return when nothing is ready to run in this loop, and no timer within a frame.

    Textual's own way looks at how busy the processor is, which on a busy machine says "idle" while all is still to do.
    """
    loop = asyncio.get_running_loop()
    waited = 0
    while waited < MOST_TIMERS:
        await asyncio.sleep(0)
        if loop._ready:  # type: ignore[attr-defined]
            continue
        due_s = _next_timer(loop) - loop.time()
        if due_s > FRAME_S or _is_ending():
            return
        await asyncio.sleep(max(due_s, 0.0))
        waited += 1


def _is_ending() -> bool:
    """Whether the app was told to end: its screen's timer repeats itself until whoever waits lets it."""
    app = active_app.get(None)
    return app is not None and app._exit


def _next_timer(loop: asyncio.AbstractEventLoop) -> float:
    timers: list[asyncio.TimerHandle] = loop._scheduled  # type: ignore[attr-defined]
    return min((timer.when() for timer in timers if not timer.cancelled()), default=math.inf)
