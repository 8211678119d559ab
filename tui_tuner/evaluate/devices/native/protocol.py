"""What an executor is asked to do, over a socket, and what it tells, in memory that both share.

Standard library only, as all of an executor.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import socket
import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CType = str | list[Any]
"""A type of C: what ctypes calls a simple one, `["*", element, count]`, or the members of a structure by name."""


class Span(NamedTuple):
    """Where an array lies in its memory; all numbers are bytes from the start of that.

    Attributes:
        reserved: where the guard before it begins.
        first: where its pages begin.
        start: of the array.
        end: behind the last byte of the array.
        last: behind its pages, where the other guard begins.
        after: behind that guard.
    """

    reserved: int
    first: int
    start: int
    end: int
    last: int
    after: int

    def holds(self, offset: int) -> bool:
        """Whether an offset is within what is reserved, guards included."""
        return self.reserved <= offset < self.after


class Memory(NamedTuple):
    """Arrays in one file in memory, and what some of them held in another that nobody can change.

    Attributes:
        nbytes: of all, guards included.
        restored: which arrays are restored before each launch, and where in the other file their content is.
        pristine_bytes: of the other file.
        lists: an array, which other array holds the addresses of its parts, and where in it each of these begins.
    """

    nbytes: int
    arrays: list[Span]
    restored: list[tuple[int, int]]
    pristine_bytes: int
    lists: list[tuple[int, int, list[int]]]


class Scalar(NamedTuple):
    """A number or a structure.

    Attributes:
        content: its bytes, hexadecimal.
        ctype: as a C function takes it; None on the emulator, which takes the bytes.
    """

    content: str
    ctype: CType | None

    def holding(self, offset: int, address: int) -> Scalar:
        """This structure with an address in it, behind so many bytes."""
        content = bytearray.fromhex(self.content)
        content[offset : offset + 8] = address.to_bytes(8, "little")
        return self._replace(content=content.hex())


class Launch(NamedTuple):
    """One launch.

    Attributes:
        memory: which of the task's memories its arrays are in.
        values: the kernel's arguments: which of the arrays, or a scalar.
        geometry: grid, block and bytes of dynamic shared memory, 7 numbers.
        order: that of blocks and threads on the emulator: 0 for the usual one, others are shuffled.
        alone: the only block to run on the emulator, counted from 1; 0 for all.
        behind: whether it runs as if others had begun and not ended.
        constants: values that are no arguments, each with the variable that it fills.
        pointers: a structure, bytes from its start, and the array whose address comes there, which is no argument.
    """

    memory: int
    values: list[int | Scalar]
    geometry: tuple[int, ...]
    order: int
    alone: int
    behind: bool
    constants: list[tuple[int, str]]
    pointers: list[tuple[int, int, int]]

    @property
    def aside(self) -> frozenset[int]:
        """Which values are no arguments."""
        return frozenset([index for index, _ in self.constants] + [array for _, _, array in self.pointers])


class Task(NamedTuple):
    """What an executor does.

    Attributes:
        emulated: whether the artifact is a CUDA kernel for the emulator, else a C function.
        launches: each different one.
        sequence: which of them follow one another, in one load of the artifact; empty to load it only.
        timeout_s: of each of them.
        libraries: directories of the compiler's own libraries.
        strict: whether the kernel must not run unless the executor can be confined.
    """

    emulated: bool
    artifact: str
    symbol: str
    memories: list[Memory]
    launches: list[Launch]
    sequence: list[int]
    timeout_s: float
    libraries: list[str]
    strict: bool

    @property
    def has_threads(self) -> bool:
        """Whether the kernel may start threads of its own."""
        return not self.emulated


_HEAD = struct.Struct("<II")
_DESCRIPTORS_A_MESSAGE = 200  # the operating system takes 253


def send(channel: socket.socket, task: Task, descriptors: Sequence[int]) -> None:
    """Give an executor its task, and the files in memory: the report's, then two for each memory.

    Raises:
        OSError: it is gone.
    """
    text = json.dumps(task).encode()
    channel.sendall(_HEAD.pack(len(text), len(descriptors)))
    for first in range(0, len(descriptors), _DESCRIPTORS_A_MESSAGE):
        socket.send_fds(channel, [b"."], descriptors[first : first + _DESCRIPTORS_A_MESSAGE])
    channel.sendall(text)


def receive(channel: socket.socket) -> tuple[Task, list[int]]:
    """The task of this executor and its files in memory.

    Raises:
        OSError: nobody wants it any more.
    """
    nbytes, count = _HEAD.unpack(_exactly(channel, _HEAD.size))
    descriptors: list[int] = []
    while len(descriptors) < count:
        said, more, _, _ = socket.recv_fds(channel, 1, _DESCRIPTORS_A_MESSAGE)
        if not said:
            raise ConnectionError
        descriptors += more
    return _task(json.loads(_exactly(channel, nbytes))), descriptors


def _exactly(channel: socket.socket, nbytes: int) -> bytes:
    content = b""
    while len(content) < nbytes:
        piece = channel.recv(nbytes - len(content))
        if not piece:
            raise ConnectionError
        content += piece
    return content


def _task(fields: list[object]) -> Task:
    task = Task(*fields)  # type: ignore[arg-type]
    memories = [Memory(*memory)._replace(arrays=[Span(*place) for place in memory[1]]) for memory in task.memories]
    launches = [
        launch._replace(values=[Scalar(*one) if isinstance(one, list) else one for one in launch.values])
        for launch in (Launch(*each) for each in task.launches)
    ]
    return task._replace(memories=memories, launches=launches)


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
