"""Start a program, read what it prints, and end it with all that it started.

A child has a session and a process group of its own, so that it can be ended with all that stayed in the group, and a
key pressed in the terminal does not reach it. Its pipes are ours and not asyncio's, which takes a process for running
as long as anyone holds its pipes open, and what a program leaves behind may do that.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tui_tuner.processes import parent

Stream = int | IO[Any]
"""Where a stream goes: PIPE, DEVNULL, an open file, and for errors STDOUT as well."""
KILL_S = 10.0
"""How long a killed process may take to go away."""
_LOG = logging.getLogger(__name__)
_LOOK_S = 0.05
_PIECE = 1 << 16


@dataclass(frozen=True)
class Program:
    """A program that is to be started.

    Attributes:
        environment: all that it gets, by one of the policies of `tui_tuner.processes`.
        output: where its standard output goes.
        errors: where its standard error goes.
        has_input: whether it is given something to read.
        directory: where it runs; our own if None.
        descriptors: that it inherits.
        dies_with_us: whether a launcher has it killed when this program is, which takes a few hundredths of a second;
            False for programs of ours, which see to that themselves.
        ends_whole: whether what it started ends with it, and with this program, though it left the group; on Linux.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    output: Stream = DEVNULL
    errors: Stream = DEVNULL
    has_input: bool = False
    directory: Path | str | None = None
    descriptors: Sequence[int] = ()
    dies_with_us: bool = True
    ends_whole: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether a process stays between us and it, which sees to its end."""
        return self.ends_whole and sys.platform == "linux"


class Pipes:
    """The pipes of a child, made in a block: behind it theirs are closed, and after an error ours as well."""

    def __init__(self) -> None:
        self._ours: list[asyncio.BaseTransport] = []
        self._theirs: list[int] = []

    async def reader(self, stream: Stream) -> tuple[asyncio.StreamReader | None, Stream]:
        """What we read, None where the stream is no pipe, and what the child writes to."""
        if stream != PIPE:
            return None, stream
        ours, theirs = os.pipe()
        self._theirs.append(theirs)
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", 0)
        )
        self._ours.append(transport)
        return reader, theirs

    async def writer(self) -> tuple[asyncio.StreamWriter, int]:
        """What we write to and what the child reads."""
        theirs, ours = os.pipe()
        self._theirs.append(theirs)
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(ours, "wb", 0))
        self._ours.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, loop), theirs

    def __enter__(self) -> Pipes:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for descriptor in self._theirs:
            os.close(descriptor)
        self._theirs.clear()
        if kind is not None:
            self.close()

    def close(self) -> None:
        """Close what is ours."""
        for transport in self._ours:
            if isinstance(transport, asyncio.WriteTransport) and transport.get_write_buffer_size():
                transport.abort()  # closing would wait for somebody to read what is left
            else:
                transport.close()


@dataclass(frozen=True)
class Child:
    """A program that was started with `start` or `running`.

    Attributes:
        input: its standard input; None unless that was asked for.
        output: its standard output, and its errors where these go there; None unless piped.
        errors: its standard error; None unless piped by itself.
    """

    process: Process
    input: asyncio.StreamWriter | None = None
    output: asyncio.StreamReader | None = None
    errors: asyncio.StreamReader | None = None
    _pipes: Pipes = field(default_factory=Pipes, repr=False)
    _is_kept: bool = False

    @property
    def pid(self) -> int:
        """Number of the process, which is that of its group as well."""
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self.process.returncode

    async def wait(self, limit_s: float | None = None) -> int | None:
        """Wait for the program alone, whatever it left behind; its exit status, None where the time is up first."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.process.wait()
        return self.process.returncode

    async def feed(self, data: bytes) -> None:
        """Write all of its input and close it; a program may answer without reading all of it."""
        if self.input is None:
            raise RuntimeError("its input was not asked for")
        with suppress(BrokenPipeError, ConnectionResetError):
            self.input.write(data)
            await self.input.drain()
        self.input.close()

    async def talk(self, data: bytes | None = None, *, limit: int = 1 << 24) -> bytes:
        """Feed it and read all that it prints, of which so many bytes are kept; it has ended then."""
        if data is None:
            answer = await read_all(self.output, limit)
        else:
            _, answer = await asyncio.gather(self.feed(data), read_all(self.output, limit))
        await self.wait()
        return answer

    def signal_group(self, number: int) -> bool:
        """Signal it and all that stayed in its group; whether there was anyone."""
        return signal_group(self.pid, number)

    async def kill(self) -> int | None:
        """Kill all of it at once and reap it; its exit status, None where it does not go away."""
        if self._is_kept:
            self.signal_group(signal.SIGTERM)
            if await self.wait(KILL_S) is not None:
                return self.returncode
        self.signal_group(signal.SIGKILL)
        return await self.wait(KILL_S)

    async def end(self, grace_s: float) -> int | None:
        """Ask all of it to end, and kill what is left after the grace. Cancelled meanwhile, it kills at once.

        Returns:
            Its exit status, None where it does not go away.
        """
        try:
            if self.signal_group(signal.SIGTERM):
                await self._group_gone(grace_s)
        finally:
            self.signal_group(signal.SIGKILL)
        return await self.wait(KILL_S)

    async def _group_gone(self, limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while self.signal_group(0) and time.monotonic() < end:
            await asyncio.sleep(_LOOK_S)

    def close(self) -> None:
        """Close our ends of its pipes, whatever was not read or written yet."""
        self._pipes.close()

    async def dispose(self) -> None:
        """Kill all of it and close our ends of its pipes. Cancelled meanwhile, it closes them all the same."""
        try:
            await self.kill()
        finally:
            self.close()


@asynccontextmanager
async def running(program: Program) -> AsyncIterator[Child]:
    """A program that is killed with all that it started when the block is left.

    Raises:
        OSError: it cannot be started.
    """
    child = await start(program)
    try:
        yield child
    finally:
        await child.dispose()


async def start(program: Program) -> Child:
    """Start a program; the caller ends it and closes its pipes.

    Raises:
        OSError: it cannot be started.
    """
    with Pipes() as pipes:
        output, stdout = await pipes.reader(program.output)
        errors, stderr = await pipes.reader(program.errors)
        writer, stdin = await pipes.writer() if program.has_input else (None, DEVNULL)
        status, told = await pipes.reader(PIPE) if program.dies_with_us else (None, None)
        kept = ("keep",) if program.is_kept else ()
        process = await asyncio.create_subprocess_exec(
            *(() if told is None else (*LAUNCHER, *kept, str(os.getpid()), str(told))),
            *program.command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=program.directory,
            env=dict(program.environment),
            pass_fds=(*program.descriptors, *(() if told is None else (told,))),
            start_new_session=True,
        )
    child = Child(process, writer, output, errors, pipes, program.is_kept)
    await _raise_unless_started(child, status, program.command[0])
    _LOG.debug("started", extra={"fields": {"pid": child.pid, "program": program.command[0]}})
    return child


LAUNCHER = (sys.executable, "-I", "-S", str(Path(parent.__file__).resolve()))
"""What becomes a program and is killed with us; its words are those of `parent.py`."""


async def _raise_unless_started(child: Child, status: asyncio.StreamReader | None, program: str) -> None:
    """Wait until the launcher has become the program."""
    try:
        number = b"" if status is None else await status.read()
        if number:
            raise OSError(int(number), os.strerror(int(number)), program)
    except BaseException:
        await child.dispose()
        raise


async def read_all(reader: asyncio.StreamReader | None, limit: int) -> bytes:
    """Read to the end; so many bytes are kept, the first ones."""
    if reader is None:
        raise RuntimeError("what it prints is not piped")
    kept = bytearray()
    while piece := await reader.read(_PIECE):
        kept += piece[: limit - len(kept)]
    return bytes(kept)


def signal_group(group: int, number: int) -> bool:
    """Signal a process group; whether there was anyone to signal."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


def start_server(command: Sequence[str], *, environment: Mapping[str, str], descriptor: int) -> subprocess.Popen[bytes]:
    """Start a program of ours that serves over one of our descriptors; the caller ends it.

    It belongs to no event loop, and sees itself to it that it ends with us.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(  # noqa: S603 - it is ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        pass_fds=(descriptor,),
        start_new_session=True,
    )


async def run_on_terminal(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program of the user's that has the terminal, as an editor, and wait for it; its exit status.

    It stays in our process group, which is the one that may read from the terminal.

    Raises:
        OSError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(*command, env=dict(environment))
    return await process.wait()
