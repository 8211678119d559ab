"""Terminals that come and go, and signals: what reaches a session from outside of its own screen.

It is imported before the screen is there, and so imports nothing of sessions by itself.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tuner.errors import ExitCode
from tui_tuner.text import say

if TYPE_CHECKING:
    from tui_tuner.session.stream import EventStream, KeptRun
    from tui_tuner.strategies.steps import Approver, Decision, ModelTrouble, Proposal, Remedy
    from tui_tuner.tui.app import TunerApp


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


STORY = "story.log"
"""Where in its directory a run goes on to tell its story once its terminal is gone."""


class AnswersElsewhere:
    """Answers nothing here: a step, or a model that fails, waits until somebody who is attached answers it.

    Args:
        told: is told in a line that a step waits.
    """

    def __init__(self, told: Callable[[str], object]) -> None:
        self._told = told

    async def decide(self, proposal: Proposal) -> Decision:
        """Wait until this is cancelled.

        Raises:
            asyncio.CancelledError: somebody answered elsewhere.
        """
        self._told(f"step {proposal.step.id} awaits an answer: {proposal.step.title}")
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        return await answer

    async def help(self, trouble: ModelTrouble) -> Remedy:
        """Wait likewise where a model fails.

        Raises:
            asyncio.CancelledError: somebody answered elsewhere.
        """
        self._told(f"the model failed and an answer is awaited: {trouble.reason}")
        answer: asyncio.Future[Remedy] = asyncio.get_running_loop().create_future()
        return await answer


async def watch(path: Path, *, json: bool, answer: bool) -> ExitCode:
    """Print the story of a run that another process drives, as it comes.

    Args:
        answer: whether its questions are put to the user here.

    Raises:
        JournalError: there is no such run.
    """
    from tui_tuner.headless import AskInLines, Lines
    from tui_tuner.progress import say_above
    from tui_tuner.session.live import WatchedRun

    run = WatchedRun(path)
    lines = Lines(run.subject, json=json)
    approver: Approver = AskInLines(lines.teller.asking) if answer else AnswersElsewhere(say_above)
    async with lines.teller.ticking(), aclosing(run.events(approver)) as stream:
        async for event in stream:
            lines.take(event)
    return lines.end()


class HangUp:
    """What a session does when its terminal is gone: it goes on.

    Args:
        run: tells the run's directory, once there is one.
        leave: is called then; None where nothing is to be left, and only its story goes elsewhere.

    Attributes:
        came: whether it is gone.
    """

    def __init__(self, run: Callable[[], Path | None], leave: Callable[[], object] | None = None) -> None:
        self.came = False
        self._run = run
        self._leave = leave or self.tell_story
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hung_up)

    def _hung_up(self) -> None:
        if self.came:
            return
        self.came = True
        if not _has_terminal():
            _redirect(Path(os.devnull))  # the last that is drawn must not end in an error
        self._leave()

    def tell_story(self) -> None:
        """Let all that is printed from now on go to the run's story."""
        run = self._run()
        _redirect(Path(os.devnull) if run is None else run / STORY)


def _has_terminal() -> bool:
    try:
        termios.tcgetattr(sys.stdin.fileno())
    except (OSError, ValueError, termios.error):
        return False
    return True


def _redirect(file: Path) -> None:
    reading = os.open(os.devnull, os.O_RDONLY)
    writing = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(reading, 0)
    for number in (1, 2):
        os.dup2(writing, number)
    os.close(reading)
    os.close(writing)


async def without_a_terminal(app: TunerApp, run: KeptRun | None, interrupt: Callable[[str], None]) -> ExitCode:
    """Go on with a session whose terminal is gone; a step waits for who attaches.

    Args:
        run: None as long as the session is not put together.
        interrupt: ends the session.
    """
    from tui_tuner.headless import Lines

    lines = Lines(app.subject)
    signals = EndingSignals(interrupt, but=signal.SIGHUP)
    told = say if run is None else attach_line(run)
    try:
        await app.go_on(lines.hear, lines.take, AnswersElsewhere(told))
    except asyncio.CancelledError:
        return signals.code
    return signals.code if signals.came else lines.end()


def attach_line(run: KeptRun) -> Callable[[str], None]:
    """What tells that a step waits, and how it is answered."""
    from tui_tuner.progress import say_above

    def tell(line: str) -> None:
        path = shlex.quote(str(run.path))
        say_above(f"{line}; answer it with: tuner-tui attach {path}")

    return tell
