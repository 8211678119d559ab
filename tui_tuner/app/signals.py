"""Signals that a session obeys: those that end it in order, and two that control one without a screen."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tuner.errors import ExitCode

if TYPE_CHECKING:
    from tui_tuner.session.stream import EventStream


def obey_signals(session: EventStream) -> None:
    """SIGUSR1 pauses a session without a screen, and lets it go on; SIGUSR2 has it conclude with what it has."""
    from tui_tuner.session.controls import GoOn, Pause, Stop

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, lambda: session.tell(GoOn() if session.paused else Pause()))
    loop.add_signal_handler(signal.SIGUSR2, lambda: session.tell(Stop()))


_SIGNALS = {
    signal.SIGINT: ("interrupted by the user", ExitCode.INTERRUPTED),
    signal.SIGTERM: ("ended by SIGTERM", ExitCode.TERMINATED),
    signal.SIGHUP: ("its terminal is gone", ExitCode.HUNG_UP),
}
"""What ends a session in order, with its last event and its best on disk: the reason, and what the shell is told."""


_SAME_S = 1.0
"""So soon after the first another is the same: `timeout`, a shell and Slurm tell the program and its group."""


def forget_signals() -> None:
    """Let signals do what they did before there was a session, for what comes after one."""
    for name in (*_SIGNALS, signal.SIGUSR1, signal.SIGUSR2):
        asyncio.get_running_loop().remove_signal_handler(name)


class NeverWaits(SystemExit):
    """Something that runs never lets the program hear a signal."""

    def __init__(self) -> None:
        super().__init__(ExitCode.INTERRUPTED)

    def __str__(self) -> str:
        return "it never waits, so that no signal is heard"


class EndingSignals:
    """Signals that end a session from now on: the first in order, a later one at once.

    What keeps the program from hearing the first, as a strategy that never waits, is ended where it is by a later one.

    Args:
        interrupt: ends the session where it is, with the reason.
        but: one that is left as it is.

    Attributes:
        came: whether one came.
        code: what the shell is told.
    """

    def __init__(self, interrupt: Callable[[str], None], *, but: signal.Signals | None = None) -> None:
        self.came = False
        self.code = ExitCode.INTERRUPTED
        self._interrupt = interrupt
        self._task = asyncio.current_task()
        self._now = asyncio.get_running_loop().time
        self._came_at = 0.0
        self._sent_at: float | None = None
        for name in _SIGNALS:
            if name is not but and signal.getsignal(name) is not signal.SIG_IGN:  # as under nohup
                asyncio.get_running_loop().add_signal_handler(name, self._end, name)
                signal.signal(name, self._sent)  # the loop is told all the same
                signal.siginterrupt(name, False)

    def _sent(self, *_: object) -> None:
        """Called within whatever runs, where `_end` waits until the loop has its turn."""
        now = self._now()
        self._sent_at = now if self._sent_at is None else self._sent_at
        if not self.came and now >= self._sent_at + _SAME_S:
            raise NeverWaits

    def _end(self, name: signal.Signals) -> None:
        if self.came:
            if self._task is not None and self._now() >= self._came_at + _SAME_S:
                self._task.cancel()
            return
        reason, self.code = _SIGNALS[name]
        self.came, self._came_at = True, self._now()
        self._interrupt(reason)
