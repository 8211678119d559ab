"""What a launch tells, in memory that the executor and we share. Standard library only, as all of an executor."""

from __future__ import annotations

import ctypes
import mmap
import os
from enum import IntEnum

MESSAGE_BYTES = 1024
MOST_ATOMICS = 256


class LaunchStatus(IntEnum):
    """How far an executor came; 1 to 5 and 10 are what the emulator's runtime returns."""

    DONE = 0
    DEADLOCK = 2
    TRAPPED = 3
    OVERRUN = 4
    REFUSED = 5
    UNLOADABLE = 6
    UNCONFINED = 7
    FAULTY = 8
    UNFINISHED = 9
    RACED = 10


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


class AtomicsNote(ctypes.Structure):
    """Laid out as `Atomics` in the emulator's launch.cpp.

    Attributes:
        count: of addresses; -1 where they are too many, or where one block may wait for another.
        addresses: where atomic functions worked.
    """

    _fields_ = (("count", ctypes.c_int), ("addresses", ctypes.c_uint64 * MOST_ATOMICS))
    count: int
    addresses: ctypes.Array[ctypes.c_uint64]


class LaunchReport(ctypes.Structure):
    """The shared page.

    Attributes:
        fault: written by the signal handler.
        status: a `LaunchStatus`.
        shared_bytes: static shared memory of the loaded kernel.
        atomics: of a block that ran alone.
        message: reason of a failure.
    """

    _fields_ = (
        ("fault", FaultNote),
        ("status", ctypes.c_int),
        ("shared_bytes", ctypes.c_uint),
        ("atomics", AtomicsNote),
        ("message", ctypes.c_char * MESSAGE_BYTES),
    )
    fault: FaultNote
    status: int
    shared_bytes: int
    atomics: AtomicsNote
    message: bytes


class SharedReport:
    """A report, with the times of some launches and the addresses of some memories.

    Args:
        descriptor: of the file in memory where it is; None makes one.

    Attributes:
        nanoseconds: that each launch took.
        bases: where each memory begins in the executor.
    """

    def __init__(self, launches: int, memories: int, descriptor: int | None = None) -> None:
        page_bytes = ctypes.sizeof(LaunchReport)
        nbytes = page_bytes + 8 * (launches + memories)
        self.descriptor = os.memfd_create("report") if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self.descriptor, nbytes)
        memory = mmap.mmap(self.descriptor, nbytes)
        self.page = LaunchReport.from_buffer(memory)
        self.nanoseconds = (ctypes.c_int64 * launches).from_buffer(memory, page_bytes)
        self.bases = (ctypes.c_uint64 * memories).from_buffer(memory, page_bytes + 8 * launches)
        if descriptor is None:
            self.page.status = LaunchStatus.UNFINISHED

    @property
    def text(self) -> str:
        """The message in one printable line, whatever bytes the executor left there."""
        text = self.page.message.decode(errors="replace")
        return "".join(c if c.isprintable() else " " for c in text)

    def say(self, status: LaunchStatus, message: str) -> None:
        """Record a failure from inside the executor."""
        self.page.message = message.encode()[: MESSAGE_BYTES - 1]
        self.page.status = status
