"""Run a child, end as it ends, and leave nothing behind that it started. Standard library only."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

_DONE = b"."


def run_as_child(task: Callable[[], NoReturn], *, namespace: bool) -> NoReturn:
    """Do a task in a child and end this process with its exit status or by its signal.

    A second child, the guard, ends what is left of the first one's children, also where this process is killed and
    can do nothing any more. It notices by a pipe, which the kernel closes in every case.

    Args:
        namespace: whether this process has just made a namespace for its children's processes. The guard becomes
            process 1 there, with which the kernel ends all others. The task is not made process 1, since that one
            ignores the signals by which programs end themselves. Without a namespace the guard kills its process
            group, if that was made for this process: a child that leaves the group escapes.

    Raises:
        OSError: no process can be started.
    """
    kills_group = not namespace and os.getpgrp() == os.getpid()
    guarded, alive = os.pipe()
    guard = os.fork()
    if guard == 0:
        os.close(alive)
        _stand_guard(guarded, kills_group)
    os.close(guarded)
    child = os.fork()
    if child == 0:
        os.close(alive)
        task()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(BrokenPipeError):  # where somebody killed the guard
        os.write(alive, _DONE)
    os.waitpid(guard, 0)
    _end_likewise(status)


def _stand_guard(guarded: int, kills_group: bool) -> NoReturn:
    """Wait until the parent has reaped its child or is gone, and end; never returns to the parent's code."""
    try:
        if os.read(guarded, 1) != _DONE and kills_group:
            os.killpg(0, signal.SIGKILL)
    finally:
        os._exit(0)


def _end_likewise(status: int) -> NoReturn:
    """End with an exit status or, where it is negative, by that signal."""
    if status < 0:
        with suppress(OSError):  # that of SIGKILL cannot be set, and need not be
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)  # nothing is left to be written, and an orderly end takes milliseconds
