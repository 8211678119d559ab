"""Run one task in a forked child, in limited time, and say how it ended."""

from __future__ import annotations

import os
import select
import signal
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass

from tui_tuner.evaluate.devices.native.child import ChildTask, run_task
from tui_tuner.evaluate.devices.native.report import SharedReport


@dataclass(frozen=True)
class ChildExit:
    """How a child ended.

    Attributes:
        signal: that ended it, 0 where it ended itself.
        timed_out: whether it was killed for taking too long.
        wall_s: from fork to end, seconds.
        cpu_s: processor time by the kernel's own count, seconds.
    """

    report: SharedReport
    signal: int
    timed_out: bool
    wall_s: float
    cpu_s: float


def run_in_child(task: ChildTask) -> ChildExit:
    """Fork, let the child do the task, and reap it and whatever it started.

    The calling process may only have threads that hold no locks across a fork (as those of BLAS).
    """
    report = SharedReport(max(task.runs, 1))
    began = time.monotonic()
    child = _fork(task, report)
    in_time = _wait(child, task.timeout_s)
    with suppress(ProcessLookupError):  # before it is reaped, so that its number cannot be another's
        os.kill(child, signal.SIGKILL)
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    wall_s = time.monotonic() - began
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return ChildExit(report, number, not in_time or number == signal.SIGXCPU, wall_s, usage.ru_utime + usage.ru_stime)


def _fork(task: ChildTask, report: SharedReport) -> int:
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python from 3.12 on warns where NumPy's BLAS has threads; the child makes no use of it.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        run_task(task, report, parent)
    return child


def _wait(child: int, timeout_s: float) -> bool:
    """Whether the child ended in time."""
    descriptor = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)
