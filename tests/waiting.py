"""Waiting for a state, with a limit that only a broken program reaches."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LIMIT_S = 100.0
GROWING_S = (1.5, 6.0, 24.0, 96.0)
"""Time limits to try one after the other where a limit must end what has to get somewhere first."""
_LOOK_S = 0.02


async def reached(state: Callable[[], bool], task: asyncio.Future[object] | None = None) -> bool:
    """Wait until a state is reached; False when the task ended before it was.

    Raises:
        AssertionError: neither happened for very long.
    """
    end = time.monotonic() + LIMIT_S
    while not state():
        if task is not None and task.done():
            return False
        assert time.monotonic() < end, f"not within {LIMIT_S:g} s"
        await asyncio.sleep(_LOOK_S)
    return True


def is_running(process: int) -> bool:
    """Whether a process is there and no zombie; it may end while it is looked at."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def running_in(group: int) -> list[int]:
    """The processes of a group, zombies left out."""
    found = []
    for number in (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()):
        with suppress(ProcessLookupError):
            if os.getpgid(number) == group and is_running(number):
                found.append(number)
    return found


def processor_s(process: int | None = None) -> float:
    """Processor time that a process has used until now; without one, this process and its children that ended, s."""
    if process is None:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in used)
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(process: int) -> dict[int, str]:
    """The command of each child of a process, NUL between words; they and threads may end while they are looked at."""
    found: dict[int, str] = {}
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                with suppress(OSError):
                    found[int(child)] = Path(f"/proc/{child}/cmdline").read_text()
    return found


def is_loaded(script: str) -> bool:
    """Whether a process of ours keeps a script loaded, to fork it for the commands that run it."""
    return any(script in command.split("\0") for command in children(os.getpid()).values())
