"""Start one command through the launcher, read what it prints, and end all of it in time."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import sysconfig
import time
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.evaluate.sandbox.launcher import UNCONFINED, ResourceLimits
from tui_tuner.processes import confined_environment
from tui_tuner.processes.child import Child, Program, running
from tui_tuner.processes.parent import NOT_STARTED

SYSTEM_READ = tuple(
    map(Path, ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/dev/urandom"))
)
SYSTEM_WRITE = (Path("/dev/null"),)

PACKAGES = Path(__file__).parents[3]
"""Where this package lies."""

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from tui_tuner.evaluate.sandbox.launcher import main; main(sys.argv[2:])"
)
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
    job: ConfinedCommand, *, timeout_s: float, output_limit: int, limits: ResourceLimits, strict: bool
) -> CommandResult:
    """Run a job through the launcher; on time-out or cancellation its whole process group is killed.

    Args:
        output_limit: bytes of output that are kept.
        strict: whether it must not run unless it can be confined.
    """
    output = _Output(output_limit)
    began = time.perf_counter()
    timed_out = False
    async with running(_program(job, limits, strict)) as child:
        try:
            async with asyncio.timeout(timeout_s):
                await output.read(child)
                await child.wait()
        except TimeoutError:
            timed_out = True
        finally:
            if child.returncode is None:
                await _kill(child, output)
    milliseconds = 1000 * (time.perf_counter() - began)
    returncode = -signal.SIGKILL if child.returncode is None else child.returncode
    return CommandResult(returncode, output.text(), timed_out, milliseconds)


def _program(job: ConfinedCommand, limits: ResourceLimits, strict: bool) -> Program:
    directory = job.directory.resolve()
    return Program(
        through_launcher(job.command, read=job.read, write=(directory, *job.write), limits=limits, strict=strict),
        environment=confined_environment(job.command[0], directory),
        output=PIPE,
        errors=STDOUT,
        directory=directory,
        dies_with_us=False,
    )


def through_launcher(
    command: Sequence[str], *, read: Sequence[Path], write: Sequence[Path], limits: ResourceLimits, strict: bool
) -> tuple[str, ...]:
    """The command that runs the one given confined; to be started by this process, in a session of its own.

    It ends as that one ends, and takes all that was started with it, even if it is killed itself.

    Args:
        read: what it may read and execute besides the system's programs and libraries.
        write: what it may read and write, device nodes included.
        strict: whether it must not run unless it can be confined.
    """
    return (
        *(sys.executable, "-I", "-S", "-c", _BOOT, str(PACKAGES)),
        *(("strict",) if strict else ()),
        f"parent={os.getpid()}",
        f"limits={','.join(map(str, limits))}",
        *(f"read={path}" for path in _resolved((*SYSTEM_READ, *read))),
        *(f"write={path}" for path in _resolved((*SYSTEM_WRITE, *write))),
        "--",
        *command,
    )


def _resolved(paths: Sequence[Path]) -> list[str]:
    return list(dict.fromkeys(str(path.resolve()) for path in paths))


async def _kill(child: Child, output: _Output) -> None:
    """Kill the process group, and see all of it end, which shows in the end of the output."""
    await child.kill()
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_S):
            await output.read(child)


class _Output:
    """The first and the last bytes of a stream, half of the limit each."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = b""
        self._tail = b""
        self._bytes = 0

    async def read(self, child: Child) -> None:
        """Take in all that the child prints, until it prints no more."""
        assert child.output is not None  # noqa: S101 - it was started with a pipe
        while chunk := await child.output.read(65536):
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
