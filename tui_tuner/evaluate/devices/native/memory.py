"""Memory shared with child processes: guarded arrays, and what a child tells of a launch."""

from __future__ import annotations

import ctypes
import mmap
import os
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np

MESSAGE_BYTES = 1024


class LaunchStatus(IntEnum):
    """How far a child came; 1 to 5 and 10 are what the emulator's runtime returns."""

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


class WatchedArray(ctypes.Structure):
    """Laid out as `Array` in the emulator's report.h: where an array and what is reserved for it begin and end."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in ("reserved", "start", "end", "after"))

    @classmethod
    def of(cls, array: GuardedSharedArray) -> WatchedArray:
        """The addresses of an array."""
        return cls(array.reserved, array.start, array.end, array.reserved + 2 * array.guard + array.mapped)


MOST_ATOMICS = 256


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


_PAGE = mmap.PAGESIZE
_ALIGNMENT = 16
_LEAST_GUARD, _MOST_GUARD = 1 << 20, 1 << 28
_PATTERN = 0xA5
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


@dataclass(frozen=True)
class GuardedSharedArray:
    """An array and the pages around it; all numbers are addresses or bytes.

    Attributes:
        reserved: address of the front guard, where the reservation starts.
        guard: bytes of each guard.
        mapped: bytes that can be touched, whole pages.
        start: address of the array.
        nbytes: of the array.
    """

    reserved: int
    guard: int
    mapped: int
    start: int
    nbytes: int

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.start + self.nbytes

    def bytes_view(self) -> np.ndarray:
        """The array's bytes, valid until it is released."""
        return _view(self.start, self.nbytes)

    def overwritten(self) -> Literal["before its start", "past its end"] | None:
        """Where something was written beside the array inside its own pages."""
        first = self.reserved + self.guard
        if np.any(_view(first, self.start - first) != _PATTERN):
            return "before its start"
        if np.any(_view(self.end, first + self.mapped - self.end) != _PATTERN):
            return "past its end"
        return None

    def holds(self, address: int) -> bool:
        """Whether the address is in this reservation, guards included."""
        return self.reserved <= address < self.reserved + 2 * self.guard + self.mapped

    def release(self) -> None:
        """Unmap it; nothing that views it may be used afterwards."""
        _libc.munmap(self.reserved, 2 * self.guard + self.mapped)


def guarded_copy(values: np.ndarray, *, guard_end: bool) -> GuardedSharedArray:
    """A shared copy of an array whose end (else start) lies against a guard.

    The start is aligned to 16 bytes, so up to 15 bytes may lie between the end and its guard.

    Raises:
        MemoryError: the memory cannot be had.
    """
    mapped = max(_PAGE, _whole_pages(values.nbytes))
    guard = min(max(_LEAST_GUARD, mapped), _MOST_GUARD)
    reserved = _map(None, 2 * guard + mapped, mmap.MAP_PRIVATE | _MAP_NORESERVE, 0)
    first = reserved + guard
    _map(first, mapped, mmap.MAP_SHARED | _MAP_FIXED, mmap.PROT_READ | mmap.PROT_WRITE)
    start = first + (mapped - values.nbytes) // _ALIGNMENT * _ALIGNMENT if guard_end else first
    _view(first, mapped)[:] = _PATTERN
    ctypes.memmove(start, np.ascontiguousarray(values).ctypes.data, values.nbytes)
    return GuardedSharedArray(reserved, guard, mapped, start, values.nbytes)


def _whole_pages(nbytes: int) -> int:
    return -(-nbytes // _PAGE) * _PAGE


def _map(address: int | None, nbytes: int, flags: int, protection: int) -> int:
    mapping = _libc.mmap(address, nbytes, protection, flags | mmap.MAP_ANONYMOUS, -1, 0)
    if mapping is None or mapping == _FAILED:
        raise MemoryError(f"{nbytes} bytes: {os.strerror(ctypes.get_errno())}")
    return int(mapping)


def _view(address: int, nbytes: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
