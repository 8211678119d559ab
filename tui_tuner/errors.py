"""Errors that are the user's to mend, shown as one message and never as a traceback; and what the shell is told.

UserError
 +- ProblemError      a mistake in kernel.toml, in the kernel it names, or in a file of steps
 +- SettingsError     a mistake in the user's settings or on the command line
 +- DeviceError       the device, its driver or its compiler cannot be used
 +- SandboxError      untrusted source cannot be built safely here
 +- JournalError      a run directory that cannot be read, resumed or replayed
 +- MachineError      a full disk, no memory, a killed process: no kernel's fault, and to be tried again
 |   +- DeviceLost    the device itself failed, as by an error of its memory
 +- NothingBegun      the user left before anything was begun
 +- StrategyError     a strategy of the user's own raised something; its cause is what it raised
 +- ModelError        the language model cannot be used (see tui_tuner.llm.errors)
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import ClassVar


class ExitCode(IntEnum):
    """What the program returns to the shell."""

    FINISHED = 0
    FAILED = 1
    USAGE = 2
    NO_IMPROVEMENT = 3
    NO_MODEL = 4
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class UserError(Exception):
    """A mistake with a place and a way out.

    Args:
        message: what is wrong, in one sentence.
        hint: what to do about it.
        file: the file the mistake is in.
        line: its line, counted from 1.

    Attributes:
        code: what the program returns to the shell where it ends by it.
    """

    code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: Path | str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}: "
        if self.file is not None and self.line is not None:
            place = f"{self.file}:{self.line}: "
        hint = "" if self.hint is None else f"\n  {self.hint}"
        return f"{place}{self.message}{hint}"


class ProblemError(UserError):
    """A mistake in the problem file, the kernel it names, or a file of steps."""


class SettingsError(UserError):
    """A mistake in the settings or on the command line."""

    code = ExitCode.USAGE


class NothingBegun(UserError):
    """The user left before anything was begun."""

    code = ExitCode.INTERRUPTED


@contextmanager
def writing(file: Path, hint: str | None = None) -> Iterator[None]:
    """A file that the user asked for is written.

    Raises:
        SettingsError: it cannot be.
    """
    try:
        yield
    except OSError as error:
        raise SettingsError(f"cannot be written: {error.strerror}", hint=hint, file=file) from None


class DeviceError(UserError):
    """The device, its driver or its compiler cannot be used."""


class SandboxError(UserError):
    """Untrusted source cannot be built safely on this machine."""


class JournalError(UserError):
    """A run directory that cannot be read, resumed or replayed."""


class MachineError(UserError):
    """The machine, and no kernel, kept something from being done; what was done before is not lost."""


class DeviceLost(MachineError):
    """The device failed under whatever it ran; who held it must take it anew."""


_MACHINE = {
    errno.ENOSPC: ("the disk is full", "make room"),
    errno.EDQUOT: ("your share of the disk is used up", "make room"),
    errno.EROFS: ("the disk can only be read", "look at the system's log"),
    errno.EIO: ("the disk fails", "look at the system's log"),
    errno.ENOMEM: ("there is no memory left", "end other programs, or choose smaller [sizes]"),
    errno.EAGAIN: ("no process can be started", "end other programs, or raise the limit (ulimit -u)"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
    errno.ENFILE: ("too many files are open on this system", "end other programs"),
}


@contextmanager
def machine_faults() -> Iterator[None]:
    """Tell errors of the operating system that are the machine's fault from others.

    Raises:
        MachineError: for one of them; any other error is passed on as it is.
    """
    try:
        yield
    except (OSError, MemoryError) as error:
        number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
        if number not in _MACHINE:
            raise
        message, hint = _MACHINE[number]
        file = getattr(error, "filename", None)
        raise MachineError(f"{message} ({file})" if file else message, hint=hint) from error


class StrategyError(UserError):
    """A strategy of the user's own raised something, which is its cause; what was found before is kept."""


class ModelError(UserError):
    """The language model cannot be used."""
