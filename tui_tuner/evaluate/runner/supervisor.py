"""The parent's side of the runner: starts it, watches it, kills it when it hangs, replaces it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from pydantic import TypeAdapter

from tui_tuner.errors import DeviceError, DeviceLost, MachineError, UserError
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.evaluate.runner import forked
from tui_tuner.evaluate.runner.protocol import (
    ChannelClosed,
    DeviceAnswer,
    EvaluationAnswer,
    OpenRequest,
    Phase,
    PreparationRequest,
    RunnerAnswer,
    RunnerRequest,
    UserErrorAnswer,
    encode,
    receive_async,
)
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.process import python_places, through_launcher
from tui_tuner.format import brief_duration
from tui_tuner.log import fields
from tui_tuner.processes import driver_environment, end_in_words
from tui_tuner.processes.child import Child, Program, start
from tui_tuner.processes.server import PACKAGES, ForkedChild, can_watch_forks, own_program
from tui_tuner.processes.time_limit import time_limit

_LOG = logging.getLogger(__name__)
GRACE_S = 2.0
"""How long after its own limit the runner may still answer before it is killed."""


class RunnerDied(Exception):
    """The runner is gone.

    Args:
        failure: what the last request is to be blamed for.
        killed: whether somebody killed it, which nothing that it runs does.
    """

    def __init__(self, failure: Failure, *, killed: bool = False) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.killed = killed


def _appended(log: Path) -> IO[bytes]:
    """A log, opened to go on; no link: a run's directory may come from others, and kernels print what they like."""
    try:
        return open(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666), "ab")  # noqa: PTH123
    except OSError as error:
        hint = "remove it, or name another --run-dir"
        raise UserError(f"the log of the run cannot be written: {error.strerror}", hint=hint, file=log) from error


class RunnerProcess:
    """One runner process.

    Args:
        directory: its own, the only place where a confined runner can write; removed once it has ended.

    Attributes:
        notices: what it said for the user, which whoever reads them removes.
    """

    def __init__(
        self,
        child: Child | ForkedChild,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        directory: TemporaryDirectory[str] | None = None,
    ) -> None:
        self._child = child
        self._reader = reader
        self._writer = writer
        self._directory = directory
        self._answers: TypeAdapter[RunnerAnswer] = TypeAdapter(RunnerAnswer)
        self.doing = ""
        self.notices: list[str] = []

    @classmethod
    async def start(cls, log: Path, read: Sequence[Path] | None = None, under: Sequence[str] = ()) -> RunnerProcess:
        """Start it.

        Args:
            log: where what its libraries print goes.
            read: what a confined runner may read besides libraries; None for one that is not confined.
            under: a command that runs it, as a profiler does; only for one that is not confined.

        Raises:
            UserError: the log is a link, or cannot be written.
        """
        with _appended(log) as output, ExitStack() as failed:
            if read is None and not under and can_watch_forks():
                place = {"directory": str(Path.cwd()), "environment": driver_environment()}
                with suppress(ConnectionError):  # what it is forked from was killed or cannot load, as a log will say
                    forked_child, reader, writer = await forked(output)
                    writer.write(encode(place))
                    return cls(forked_child, reader, writer)
            ours, theirs = socket.socketpair()
            command, variables, directory = _how_to_start(theirs.fileno(), read, under)
            if directory is not None:
                failed.callback(directory.cleanup)
            with theirs:
                failed.callback(ours.close)
                reader, writer = await asyncio.open_connection(sock=ours)
                failed.callback(writer.close)
                program = Program(
                    command,
                    environment=variables,
                    output=output,
                    errors=output,
                    descriptors=(theirs.fileno(),),
                    dies_with_us=False,
                )
                child = await start(program)
            failed.pop_all()
        return cls(child, reader, writer, directory)

    async def ask(self, request: RunnerRequest) -> RunnerAnswer:
        """Send a request and wait for its answer.

        Raises:
            UserError: the runner says that the user must mend something.
            RunnerDied: it crashed, or it hung and was killed.
        """
        doing, limit_s = "starting", 60.0
        try:
            self._writer.write(encode(request.model_dump(mode="json")))
            await self._writer.drain()
            while True:
                async with time_limit(limit_s + GRACE_S):
                    answer = self._answers.validate_python(await receive_async(self._reader))
                if not isinstance(answer, Phase):
                    return _raise_failed(answer)
                doing, limit_s = answer.text, answer.limit_s
                self.doing = f"{doing} (at most {brief_duration(limit_s)})"
                if answer.notice:
                    self.notices.append(answer.text)
        except TimeoutError:
            await self.kill()
            failure = Failure(kind=FailureKind.TIMEOUT, message=f"{doing}: no end after {limit_s:.0f} s")
            raise RunnerDied(failure) from None
        except (ChannelClosed, ConnectionError):
            code = await self._child.wait(GRACE_S)
            await self.kill()
            failure = Failure(kind=FailureKind.CRASH, message=f"{doing}: the process ended ({end_in_words(code)})")
            raise RunnerDied(failure, killed=code == -signal.SIGKILL) from None
        except asyncio.CancelledError:
            await self.kill()
            raise
        finally:
            self.doing = ""

    async def end(self, limit_s: float) -> None:
        """Let it come to its end by itself, and what runs it, too."""
        self._writer.close()
        await self._child.wait(limit_s)

    async def kill(self) -> int | None:
        """End the process and all it started; its exit status, None if it cannot be had."""
        self._writer.close()
        try:
            return await self._child.kill()
        finally:
            if self._directory is not None:
                self._directory.cleanup()


def _raise_failed(answer: RunnerAnswer) -> RunnerAnswer:
    if isinstance(answer, UserErrorAnswer):
        kind = DeviceLost if answer.fatal else MachineError if answer.machine else UserError
        raise kind(answer.message, hint=answer.hint, file=answer.file, line=answer.line)
    return answer


class Supervisor:
    """A runner that is always there: replaced after a crash, brought to the same state again.

    Args:
        log: where the device libraries' own output goes.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read: Sequence[Path] | None = None
        self._process: RunnerProcess | None = None
        self._asked: RunnerProcess | None = None
        self._opening: list[RunnerRequest] = []
        self._notices: list[str] = []
        self._lock = asyncio.Lock()

    @property
    def doing(self) -> str:
        """What the runner said last that it does, and how long that may take."""
        return "" if self._asked is None else self._asked.doing

    def confine(self, read: Sequence[Path] | None) -> None:
        """Let runners that are still to start read only this; None leaves them unconfined."""
        self._read = read

    def news(self) -> list[str]:
        """What the runner said for the user since this was asked last."""
        told = self._notices[:]
        self._notices.clear()
        return told

    async def open(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask once now and, unless it fails, again of every runner that follows a crash."""
        answer = await self.ask(request)
        if isinstance(request, OpenRequest) and isinstance(answer, DeviceAnswer):
            request = request.model_copy(update={"device": answer.place})  # its number may be another's by then
        if getattr(answer, "failure", None) is None:
            self._opening.append(request)
        return answer

    async def ask(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask the runner, one request at a time.

        Raises:
            UserError: the runner says that the user must mend something.
            RunnerDied: the request ended the runner; the next request gets a fresh one.
            DeviceError: the device does not come back, or is unwell: the kernel as given, good before, fails on a
                fresh runner.
            MachineError: the machine is at fault, as where the system killed the runner for want of memory.
        """
        async with self._lock:
            process = self._process or await self._start()
            self._process, self._asked = None, process
            try:
                answer = await process.ask(request)
            except DeviceLost as lost:
                _LOG.warning("the device was lost", extra=fields(reason=lost.message))
                await process.kill()
                raise
            except UserError:
                self._process = process  # it answered, and goes on
                raise
            except RunnerDied as died:
                _LOG.warning("a runner died", extra=fields(failure=died.failure.in_words, killed=died.killed))
                if not died.killed:
                    raise
                hint = "the system may have run out of memory: end other programs, or choose smaller [sizes]"
                raise MachineError("something killed the process that runs kernels", hint=hint) from died
            if getattr(answer, "fatal", False):
                await process.kill()
            else:
                self._process = process
            return answer

    async def _start(self) -> RunnerProcess:
        for attempt in range(2):
            process = await RunnerProcess.start(self._log, self._read)
            self._notices = process.notices
            try:
                await self._open(process)
            except DeviceLost as lost:
                raise DeviceError(f"the device does not come back: {lost.message}", hint=lost.hint) from lost
            except MachineError:
                raise
            except UserError as error:
                raise DeviceError(error.message, hint=error.hint, file=error.file, line=error.line) from error
            except RunnerDied as died:
                if attempt:
                    raise DeviceError(
                        f"the device is unwell: the kernel as given fails on a fresh process ({died.failure.message})",
                        hint="look at nvidia-smi and the driver's log, then `tuner-tui resume` the run",
                    ) from died
            else:
                return process
        raise AssertionError("unreachable")

    async def _open(self, process: RunnerProcess) -> None:
        """Bring the device to the state that it had; the process is killed where that fails."""
        try:
            for request in self._opening:
                answer = await process.ask(request)
                if isinstance(request, PreparationRequest) and isinstance(answer, EvaluationAnswer) and answer.failure:
                    raise RunnerDied(answer.failure)
        except (UserError, RunnerDied):
            await process.kill()
            raise

    async def close(self) -> None:
        """End the runner."""
        if self._process is not None:
            await self._process.kill()
            self._process = None


_OWN_DIRECTORY = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "POCL_CACHE_DIR")
_LIMITS = ResourceLimits(cpu_s=0, memory=0, descriptors=0)
"""A runner lives as long as its session, and holds the problem's arrays."""


def _how_to_start(
    descriptor: int, read: Sequence[Path] | None, under: Sequence[str]
) -> tuple[Sequence[str], dict[str, str], TemporaryDirectory[str] | None]:
    """The command of a runner, its environment, and the directory of a confined one.

    Args:
        descriptor: the socket that it speaks over.
        read: what it may read besides Python and the system's libraries; None leaves it unconfined.
        under: a command that runs it, where it is unconfined.
    """
    command = (*under, *own_program("tui_tuner.evaluate.runner.server", str(descriptor)))
    if read is None:
        return command, driver_environment(), None
    directory = TemporaryDirectory(prefix="tuner-runner-", ignore_cleanup_errors=True)
    # Confined before it starts: its libraries start threads, and Landlock binds only what comes after it.
    walled = through_launcher(
        command, read=(*python_places(), PACKAGES, *read), write=(Path(directory.name),), limits=_LIMITS
    )
    return walled, driver_environment() | dict.fromkeys(_OWN_DIRECTORY, directory.name), directory
