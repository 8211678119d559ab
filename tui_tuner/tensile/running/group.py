"""Ends a process with all that it started, as far as that stayed in its process group."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress

GRACE_S = 5.0
"""Between being asked to end and being made to."""
_LOOK_S = 0.05


async def end_group(process: asyncio.subprocess.Process, grace_s: float = GRACE_S) -> None:
    """TERM, and KILL for what is still there after the grace. Cancelled meanwhile, it kills at once."""
    try:
        if _signalled(process.pid, signal.SIGTERM):
            await _gone(process.pid, grace_s)
    finally:
        _signalled(process.pid, signal.SIGKILL)
    await process.wait()


def _signalled(group: int, number: int) -> bool:
    """Whether there was anyone to signal."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


async def _gone(group: int, limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while _signalled(group, 0) and time.monotonic() < end:
        await asyncio.sleep(_LOOK_S)
