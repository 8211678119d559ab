"""Start one command through the launcher, read what it prints, and end all of it in time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import sysconfig
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tui_tuner.evaluate.sandbox.launcher import UNCONFINED, ResourceLimits
from tui_tuner.processes import confined_environment
from tui_tuner.processes.child import KILL_S, Pipes, Stream, signal_group
from tui_tuner.processes.parent import NOT_STARTED
from tui_tuner.processes.server import ALONE, WITH_PACKAGES, ServerProcess, own_command
from tui_tuner.processes.time_limit import time_limit

SYSTEM_READ = tuple(
    map(Path, ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/dev/urandom"))
)
SYSTEM_WRITE = (Path("/dev/null"),)

_LAUNCHER = "tui_tuner.evaluate.sandbox.launcher"
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""NumPy's BLAS starts threads when it is loaded, and a process with threads cannot be forked."""
_ITSELF = "/proc/self"
"""Another one to each process: the confined one opens it itself."""
_GRACE_S = 5.0


@dataclass(frozen=True)
class CommandResult:
    """A command that ended.

    Attributes:
        returncode: its exit status, negative for a signal.
        output: what it printed on either stream, the middle left out where it was too much.
        timed_out: whether it was killed for taking too long.
        milliseconds: wall time from start to end, ms.
    """

    returncode: int
    output: str
    timed_out: bool
    milliseconds: float

    @property
    def refused(self) -> bool:
        """Whether the launcher could not confine it and so did not run it."""
        return self.returncode == UNCONFINED and self.output.startswith("sandbox: ")

    @property
    def not_started(self) -> bool:
        """Whether the program is missing or cannot be run."""
        return self.returncode == NOT_STARTED and self.output.startswith("sandbox: ")


@dataclass(frozen=True)
class ConfinedCommand:
    """A command and what it may touch besides the system's programs and libraries.

    Attributes:
        command: the program's absolute path and its arguments.
        directory: work directory, readable and writable; also home and place of temporary files.
        read: more paths it may read and execute.
        write: more paths it may read and write, device nodes included.
    """

    command: Sequence[str]
    directory: Path
    read: Sequence[Path] = ()
    write: Sequence[Path] = ()


async def run_job(
    job: ConfinedCommand,
    server: ForkServer,
    *,
    timeout_s: float,
    output_limit: int,
    limits: ResourceLimits,
    strict: bool,
) -> CommandResult:
    """Run a job through a launcher; on time-out or cancellation its whole process group is killed.

    Args:
        server: forks the launcher.
        output_limit: bytes of output that are kept.
        strict: whether it must not run unless it can be confined.
    """
    output = _Output(output_limit)
    began = time.perf_counter()
    timed_out = False
    async with server.running(_request(job, limits, strict)) as launcher:
        try:
            async with time_limit(timeout_s):
                await output.read(launcher.output)
                await launcher.wait()
        except TimeoutError:
            timed_out = True
        finally:
            if launcher.returncode is None:
                await _kill(launcher, output)
    milliseconds = 1000 * (time.perf_counter() - began)
    returncode = -signal.SIGKILL if launcher.returncode is None else launcher.returncode
    return CommandResult(returncode, output.text(), timed_out, milliseconds)


def _request(job: ConfinedCommand, limits: ResourceLimits, strict: bool) -> dict[str, Any]:
    directory = job.directory.resolve()
    options = _options(job.read, (directory, *job.write), limits, strict=strict)
    return {
        "arguments": [*options, "--", *job.command],
        "environment": confined_environment(job.command[0], directory),
        "directory": str(directory),
    }


class ForkServer:
    """A process that stays, and forks a launcher for each command: only the first waits for Python to start.

    What a launcher runs is confined in the fork, before it touches anything; the process itself is given nothing but
    requests of ours, inherits no variables, and keeps nothing of a request. It starts when
    it is first needed, again if it is gone, and ends with this object.

    Args:
        script: a Python script that it loads and whose `warm_up` it calls with the further arguments; a command that
            has Python run this script finds it loaded. See `launcher.serve`.
    """

    def __init__(self, *script: str) -> None:
        environment = confined_environment(sys.executable, "/") | (_ONE_THREAD if script else {})
        flags = WITH_PACKAGES if script else ALONE
        self._process = ServerProcess(_LAUNCHER, *script, environment=environment, flags=flags)

    @asynccontextmanager
    async def running(self, request: dict[str, Any]) -> AsyncIterator[Launcher]:
        """A launcher that was forked; whoever leaves the block sees to its end."""
        with Pipes() as pipes, TemporaryFile() as file:
            output, theirs = await pipes.reader(PIPE)
            told, telling = await pipes.reader(PIPE)
            file.write(json.dumps(request).encode())
            file.seek(0)
            self._send(file, theirs, telling)
        try:
            yield Launcher(output, told)
        finally:
            pipes.close()

    def begin(self) -> None:
        """Start the process ahead of the first command; where that fails, the command tries again."""
        if not self._process.has_started:
            with suppress(OSError):
                self._process.start()

    def close(self) -> None:
        """End the process and all that it forked."""
        self._process.close()

    def _send(self, *streams: Stream) -> None:
        descriptors = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
        self._process.asked(lambda connection: socket.send_fds(connection, [b"."], descriptors))


class Launcher:
    """A launcher that a server forked, and the command that it runs.

    Attributes:
        output: what the command prints.
        returncode: exit status of the command, negative for a signal; None as long as it runs.
    """

    def __init__(self, output: asyncio.StreamReader | None, told: asyncio.StreamReader | None) -> None:
        if output is None or told is None:
            raise RuntimeError("a launcher has pipes")
        self.output = output
        self.returncode: int | None = None
        self._told = told
        self._group: int | None = None

    async def wait(self) -> None:
        """Wait until the command has ended, or the launcher is gone, which then was killed."""
        await self._started()
        self.returncode = int(await self._told.readline() or -signal.SIGKILL)

    async def kill(self) -> None:
        """Kill launcher, command and all that stayed in their group at once, and wait until the launcher is gone."""
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_S):
                group = await self._started()
                if group:
                    signal_group(group, signal.SIGKILL)
                await self.wait()

    async def _started(self) -> int:
        if self._group is None:
            self._group = int(await self._told.readline() or 0)
        return self._group


def through_launcher(
    command: Sequence[str], *, read: Sequence[Path], write: Sequence[Path], limits: ResourceLimits
) -> tuple[str, ...]:
    """The command that runs the one given confined; to be started by this process, in a session of its own.

    It does not run unless it can be confined. It ends as that one ends, and takes all that was started with it, even
    if it is killed itself.

    Args:
        read: what it may read and execute besides the system's programs and libraries.
        write: what it may read and write, device nodes included.
    """
    options = _options(read, write, limits, strict=True)
    return own_command(_LAUNCHER, "main", f"parent={os.getpid()}", *options, "--", *command)


def _options(read: Sequence[Path], write: Sequence[Path], limits: ResourceLimits, *, strict: bool) -> tuple[str, ...]:
    return (
        *(("strict",) if strict else ()),
        f"limits={','.join(map(str, limits))}",
        *(f"read={path}" for path in _resolved((*SYSTEM_READ, *read))),
        *(f"write={path}" for path in _resolved((*SYSTEM_WRITE, *write))),
    )


def _resolved(paths: Sequence[Path]) -> list[str]:
    return list(dict.fromkeys(str(path if path.is_relative_to(_ITSELF) else path.resolve()) for path in paths))


async def _kill(launcher: Launcher, output: _Output) -> None:
    """Kill the process group, and see all of it end, which shows in the end of the output."""
    await launcher.kill()
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_S):
            await output.read(launcher.output)


class _Output:
    """The first and the last bytes of a stream, half of the limit each."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = b""
        self._tail = b""
        self._bytes = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Take in all that is printed, until nobody can print any more."""
        while chunk := await stream.read(65536):
            self._bytes += len(chunk)
            room = self._half - len(self._head)
            self._head += chunk[:room]
            self._tail = (self._tail + chunk[room:])[-self._half :]

    def text(self) -> str:
        """What was kept, with a line that says how much was not."""
        left_out = self._bytes - len(self._head) - len(self._tail)
        middle = f"\n[{left_out} bytes left out]\n" if left_out else ""
        return self._head.decode(errors="replace") + middle + self._tail.decode(errors="replace")


def python_places() -> tuple[Path, ...]:
    """This Python, its standard library and its installed packages."""
    places = (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
    executable = Path(sys.executable)
    return tuple(dict.fromkeys([executable, executable.resolve(), *(Path(place) for place in places)]))


def existing(patterns: Sequence[str]) -> tuple[Path, ...]:
    """What there is of some absolute paths, which may hold wildcards."""
    return tuple(path for pattern in patterns for path in sorted(Path("/").glob(pattern[1:])))
