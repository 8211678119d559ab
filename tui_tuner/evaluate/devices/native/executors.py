"""Executors as their parent sees them: started through a server, let go on from pause to pause, ended in time."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_tuner.evaluate.devices.native.executor_process import DONE, GO
from tui_tuner.evaluate.devices.native.memory import SharedMemory
from tui_tuner.evaluate.devices.native.protocol import SharedReport, Task, send
from tui_tuner.processes import driver_environment
from tui_tuner.processes.server import Forked, ServerProcess


def executor_server() -> ServerProcess:
    """The process that forks executors."""
    return ServerProcess("tui_tuner.evaluate.devices.native.executor_process", environment=driver_environment())


@dataclass(frozen=True)
class ExecutorExit:
    """How an executor ended.

    Attributes:
        bases: as those of the executor.
        signal: that ended it, 0 where it ended itself.
        timed_out: whether it was killed for taking too long.
    """

    report: SharedReport
    bases: dict[SharedMemory, int]
    signal: int
    timed_out: bool


class Executor:
    """An executor at its task. It pauses before every launch, and what it starts ends with it.

    Args:
        memories: those of the task.

    Attributes:
        cpu_s: processor time that went by between the pauses, by the operating system's count, seconds a launch.
    """

    def __init__(self, server: ServerProcess, task: Task, memories: Sequence[SharedMemory]) -> None:
        self.cpu_s: list[float] = []
        self._memories = memories
        self.report = SharedReport(len(task.sequence), len(memories))
        self._steps = 1 + len(task.sequence)
        self._process = server.asked(Forked.by)
        self._channel = self._process.channel
        self._descriptor = os.pidfd_open(self._process.number)
        files = [self.report.descriptor, *(file for memory in self._memories for file in memory.descriptors)]
        with suppress(OSError):  # it has ended already, as will show
            send(self._channel, task, files)
        os.close(self.report.descriptor)
        self._timed_out = False
        self._exit: ExecutorExit | None = None

    @property
    def steps_left(self) -> int:
        """Steps that are still to do: the first loads, each of the others launches."""
        return self._steps - len(self.cpu_s)

    @property
    def has_ended(self) -> bool:
        """Whether its process is gone, as with its server."""
        return _readable(0, self._descriptor)

    @property
    def bases(self) -> dict[SharedMemory, int]:
        """The address there of each memory."""
        return dict(zip(self._memories, self.report.bases, strict=True))

    def step(self, timeout_s: float) -> bool:
        """Let it do what comes next; whether it pauses after that in time. If not, it is at its end."""
        began = self._cpu_ns()
        with suppress(OSError):
            self._channel.send(GO)
        paused = self._waits(timeout_s)
        self.cpu_s.append((self._cpu_ns() - began) / 1e9)
        return paused

    def _waits(self, timeout_s: float) -> bool:
        end = time.monotonic() + timeout_s
        self._timed_out = not _readable(timeout_s, self._descriptor, self._channel.fileno())
        with suppress(OSError):
            if self._timed_out or self._channel.recv(1, socket.MSG_DONTWAIT) == DONE:
                return not self._timed_out
        left_s = max(0.0, end - time.monotonic())  # it closed its end of the channel, as when it ends
        self._timed_out = not _readable(left_s, self._descriptor)
        return False

    def _cpu_ns(self) -> int:
        with suppress(OSError):
            return time.clock_gettime_ns(~self._process.number << 3 | _CPU_CLOCK)
        return 0

    def hold(self) -> None:
        """Stop it, and wait until all of its threads stand still: they take no time from what runs meanwhile."""
        self._signal(signal.SIGSTOP)
        self._process.settle()

    @property
    def core(self) -> int:
        """The core that it ran on last.

        Raises:
            OSError: it is gone.
        """
        stat = Path("/proc", str(self._process.number), "stat").read_text()
        return int(stat.rpartition(")")[2].split()[_CORE])

    def keep_to(self, core: int) -> None:
        """Run on this core alone from now on, unless a second thread ever ran; it is held.

        Raises:
            OSError: it is gone.
        """
        of_first_thread = Path("/proc", str(self._process.number), "schedstat").read_text().split()[0]
        if int(of_first_thread) == self._cpu_ns():
            os.sched_setaffinity(self._process.number, {core})

    def release(self) -> None:
        """Let it go on after `hold`; it pauses as before."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._exit is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def end(self) -> ExecutorExit:
        """End it and whatever it started, and reap it; how it ended, by itself or otherwise."""
        if self._exit is None:
            self._channel.close()
            status = self._process.reap()
            os.close(self._descriptor)
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            timed_out = self._timed_out or number == signal.SIGXCPU
            self._exit = ExecutorExit(self.report, self.bases, number, timed_out)
        return self._exit


class KeptExecutors:
    """Executors that are kept between the launches of one kernel that are timed, which spares each turn a fork.

    Between two turns an executor is stopped: what it does may take no time from another's turn. Where there are
    several, those without threads of their own stay on one core: the cores of a busy machine are not equally fast.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Executor] = {}

    @contextmanager
    def turn(self, key: Hashable, steps: int, start: Callable[[int], Executor]) -> Iterator[Executor]:
        """An executor for so many steps, a new one where none is kept that has them left.

        Args:
            start: makes an executor for so many launches.
        """
        executor = self._kept.pop(key, None)
        if executor is not None and (executor.steps_left < steps or executor.has_ended):
            executor.end()
            executor = None
        is_new = executor is None
        if executor is None:
            executor = start(max(steps, _MOST_LAUNCHES))
        else:
            executor.release()
        try:
            yield executor
            executor.hold()
            if is_new and self._kept:
                self._share_a_core(executor)
        except BaseException:
            executor.end()
            raise
        self._kept[key] = executor

    def _share_a_core(self, new: Executor) -> None:
        with suppress(OSError):  # one has ended, as will show
            core = new.core
            for executor in (new, *self._kept.values()):
                executor.keep_to(core)

    def end(self, concerns: Callable[[Any], bool]) -> None:
        """End those whose key it says that they are concerned."""
        for key in [key for key in self._kept if concerns(key)]:
            self._kept.pop(key).end()


def _readable(timeout_s: float, *descriptors: int) -> bool:
    """Whether one of them has something to read, or is at its end, in time."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout_s * 1e3))


_MOST_LAUNCHES = 512
"""That one executor is timed for."""
_CORE = 36
"""Where `stat` of a process has the core that it ran on last, behind its name."""
_CPU_CLOCK = 2
"""A process's number, inverted, with this in the last three bits names the clock of its processor time."""
