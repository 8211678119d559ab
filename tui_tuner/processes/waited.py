"""Programs that a thread waits for, and no event loop: they say little, and are over soon or are given a task later."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.processes.child import LAUNCHER, signal_group


@dataclass(frozen=True)
class WaitedProgram:
    """A program that runs, and reads what it is told when it is waited for; see `begin_program`."""

    process: subprocess.Popen[str]

    @property
    def has_ended(self) -> bool:
        """Whether it has come to its end already, told or not."""
        return self.process.poll() is not None

    def finish(self, told: str, limit_s: float) -> subprocess.CompletedProcess[str]:
        """Tell it the last thing that it reads, and wait for it.

        Raises:
            TimeoutExpired: it did not end in time; it was killed with all that it started.
        """
        with self.process as process:
            try:
                output, errors = process.communicate(told, timeout=limit_s)
            finally:
                signal_group(process.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def begin_program(
    command: Sequence[str], *, environment: Mapping[str, str], dies_with_us: bool = False
) -> WaitedProgram:
    """Start a program; the caller waits for it, or ends itself.

    Args:
        dies_with_us: whether it is killed when this thread ends: one that may run for ever.

    Raises:
        OSError: it cannot be started.
    """
    with Path(os.devnull).open("wb") as nothing:
        process = subprocess.Popen(  # noqa: S603 - callers name programs of the user's toolchain, or ours
            [*LAUNCHER, str(os.getpid()), str(nothing.fileno()), *command] if dies_with_us else command,
            pass_fds=(nothing.fileno(),) if dies_with_us else (),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        )
    return WaitedProgram(process)


def run_program(
    command: Sequence[str], *, environment: Mapping[str, str], limit_s: float, dies_with_us: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program that answers in little time and few words, as to `--version`, and wait for it.

    Args:
        dies_with_us: as of `begin_program`.

    Raises:
        OSError: it cannot be started.
        TimeoutExpired: it did not end in time; it was killed with all that it started.
    """
    return begin_program(command, environment=environment, dies_with_us=dies_with_us).finish("", limit_s)
