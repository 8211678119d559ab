"""How long something may take, of the time in which this program is not stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_LOOK_S = 1.0
_LOOKS = 8
"""So often at least it is looked how much is left."""


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """End what is done inside once it took so long, as `asyncio.timeout` does.

    While this program is stopped, as by ctrl+z, others go on and their answers wait: asyncio would not look at those,
    but find the time up. So what passes between two looks counts as no more than two of them take.

    Raises:
        TimeoutError: the time is up.
    """
    loop = asyncio.get_running_loop()
    step = min(_LOOK_S, seconds / _LOOKS)
    left = seconds
    waiting: asyncio.TimerHandle
    async with asyncio.timeout(None) as timeout:

        def look(before: float) -> None:
            nonlocal left, waiting
            now = loop.time()
            left -= min(now - before, 2 * step)
            if left > 0:
                waiting = loop.call_later(min(step, left), look, now)
            else:
                timeout.reschedule(now)

        waiting = loop.call_later(step, look, loop.time())
        try:
            yield
        finally:
            waiting.cancel()
