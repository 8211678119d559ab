"""What a child process tells of a launch, in memory that it shares with its parent."""

from __future__ import annotations

import ctypes
import mmap
from enum import IntEnum

MESSAGE_BYTES = 1024


class LaunchStatus(IntEnum):
    """How far a child came; 1 to 5 are what the emulator's runtime returns."""

    DONE = 0
    DEADLOCK = 2
    TRAPPED = 3
    OVERRUN = 4
    REFUSED = 5
    UNLOADABLE = 6
    UNCONFINED = 7
    FAULTY = 8
    UNFINISHED = 9


class FaultNote(ctypes.Structure):
    """Laid out as `tuner_fault` in the emulator's faults.c.

    Attributes:
        number: of the signal, 0 where there was none.
        code: the signal's si_code.
        address: that was touched.
        placed: whether the next is known.
        place: block x, y, z, thread x, y, z.
    """

    _fields_ = (
        ("number", ctypes.c_int),
        ("code", ctypes.c_int),
        ("address", ctypes.c_void_p),
        ("placed", ctypes.c_int),
        ("place", ctypes.c_uint * 6),
    )
    number: int
    code: int
    address: int | None
    placed: int
    place: ctypes.Array[ctypes.c_uint]


class LaunchReport(ctypes.Structure):
    """The shared page.

    Attributes:
        fault: written by the signal handler.
        status: a `LaunchStatus`.
        shared_bytes: static shared memory of the loaded kernel.
        message: reason of a failure.
    """

    _fields_ = (
        ("fault", FaultNote),
        ("status", ctypes.c_int),
        ("shared_bytes", ctypes.c_uint),
        ("message", ctypes.c_char * MESSAGE_BYTES),
    )
    fault: FaultNote
    status: int
    shared_bytes: int
    message: bytes


class SharedReport:
    """A report and the times of `runs` launches, ns, in memory of its own that a fork shares."""

    def __init__(self, runs: int) -> None:
        report_bytes = ctypes.sizeof(LaunchReport)
        self._memory = mmap.mmap(-1, report_bytes + 8 * runs)
        self.page = LaunchReport.from_buffer(self._memory)
        self.nanoseconds = (ctypes.c_int64 * runs).from_buffer(self._memory, report_bytes)
        self.page.status = LaunchStatus.UNFINISHED

    @property
    def text(self) -> str:
        """The message in one printable line, whatever bytes the child left there."""
        text = self.page.message.decode(errors="replace")
        return "".join(c if c.isprintable() else " " for c in text)

    def say(self, status: LaunchStatus, message: str) -> None:
        """Record a failure from inside the child."""
        self.page.message = message.encode()[: MESSAGE_BYTES - 1]
        self.page.status = status
