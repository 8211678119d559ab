"""A process of ours that stays and forks: as it never had anything but a module of its own, it is quick to fork."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple, TypeVar

from tui_tuner.processes.child import KILL_S, signal_group, start_server
from tui_tuner.processes.fork_server import ANSWER, FORK, REAP, REQUEST, SETTLE

PACKAGES = Path(__file__).parents[2]
"""Where this package lies."""

ALONE, WITH_PACKAGES, AS_STARTED = ("-I", "-S"), ("-I",), ("-P",)
"""How Python is started: with its own library only; with installed packages, and with them the module `site`; as the
environment says."""

_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from {module} import {entry}; {entry}(sys.argv[2:])"
_PROGRAM = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module({module!r}, run_name='__main__')"

Answer = TypeVar("Answer")


def own_command(module: str, entry: str, *arguments: str, flags: Sequence[str] = ALONE) -> tuple[str, ...]:
    """The command that calls a function of a module of ours with the arguments."""
    return (sys.executable, *flags, "-c", _BOOT.format(module=module, entry=entry), str(PACKAGES), *arguments)


def own_program(module: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of ours as `python -m` does, also where this package is not installed."""
    return (sys.executable, *AS_STARTED, "-c", _PROGRAM.format(module=module), str(PACKAGES), *arguments)


class ServerProcess:
    """A process that serves over a socket. It starts when it is first needed, again if it is gone, and ends with this.

    Args:
        module: whose `serve` it calls, with this process, the descriptor of the connection and the arguments.
        environment: all that it gets.
    """

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str], flags: Sequence[str] = ALONE
    ) -> None:
        self._module, self._arguments = module, arguments
        self._environment, self._flags = environment, flags
        self._connection: socket.socket | None = None
        self._starter = 0
        self._end: Callable[[], object] = lambda: None

    @property
    def has_started(self) -> bool:
        """Whether this process started it, not one that it was forked from, and did not close it; it may be gone."""
        return self._connection is not None and self._starter == os.getpid()

    def asked(self, attempt: Callable[[socket.socket], Answer]) -> Answer:
        """What comes of an attempt with the connection, or of another where the process was killed.

        Raises:
            OSError: it cannot be started.
        """
        try:
            return attempt(self._connection if self._connection and self.has_started else self.start())
        except ConnectionError:
            return attempt(self.start())

    def start(self) -> socket.socket:
        """Start it, in the place of one that there was; the connection to it.

        Raises:
            OSError: it cannot be started.
        """
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = (str(os.getpid()), str(theirs.fileno()), *self._arguments)
            command = own_command(self._module, "serve", *arguments, flags=self._flags)
            process = start_server(command, environment=self._environment, descriptor=theirs.fileno())
        self._connection, self._starter = ours, os.getpid()
        self._end = weakref.finalize(self, _end, ours, process, self._starter)
        return ours

    def close(self) -> None:
        """End it, with all that it forked."""
        self._end()
        self._connection = None


def _end(connection: socket.socket, process: Popen[bytes], starter: int) -> None:
    connection.close()
    if os.getpid() == starter:
        process.kill()
        process.wait()


class Forked(NamedTuple):
    """A process that a server forked, as `processes.fork_server` does.

    Attributes:
        server: the connection to that server, which alone can wait for it.
        channel: to the process.
        number: of the process.
    """

    server: socket.socket
    channel: socket.socket
    number: int

    @classmethod
    def by(cls, server: socket.socket) -> Forked:
        """A new one, as an attempt of `ServerProcess.asked`.

        Raises:
            ConnectionError: the server is gone.
            OSError: there can be no more processes.
        """
        channel = asked_to_fork(server)
        try:
            return cls(server, channel, _number(channel.recv(ANSWER.size)))
        except BaseException:
            channel.close()
            raise

    def settle(self) -> None:
        """Wait until it has stopped, with all of its threads, or has ended."""
        with suppress(OSError):
            self._asked(SETTLE)

    def reap(self) -> int:
        """End it and whatever it started; how it ended, as `os.waitpid` has it."""
        try:
            return self._asked(REAP)
        except OSError:  # a server that is gone has taken all that it forked along
            return signal.SIGKILL

    def _asked(self, request: bytes) -> int:
        self.server.sendall(REQUEST.pack(request, self.number))
        answer = self.server.recv(ANSWER.size)
        if not answer:
            raise ConnectionResetError
        return int(ANSWER.unpack(answer)[0])


def asked_to_fork(server: socket.socket) -> socket.socket:
    """The channel to a process that is asked for; its number comes through it first."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            socket.send_fds(server, [REQUEST.pack(FORK, 0)], [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
    return ours


def _number(answer: bytes) -> int:
    if not answer:
        raise ConnectionResetError
    number = int(ANSWER.unpack(answer)[0])
    if number < 0:
        raise OSError(-number, os.strerror(-number))
    return number


def can_watch_forks() -> bool:
    """Whether the system tells when a process ends that is no child of ours: Linux from 5.3 on."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


class ForkedChild:
    """A process that a server forked, for an event loop: it is waited for like a `Child`, and reaped when it ends.

    Attributes:
        returncode: its exit status, negative for a signal; None while it runs.
    """

    def __init__(self, forked: Forked) -> None:
        self._forked = forked
        self._descriptor = os.pidfd_open(forked.number)
        self._ended = asyncio.Event()
        self.returncode: int | None = None
        asyncio.get_running_loop().add_reader(self._descriptor, self._reap)

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self.returncode = os.waitstatus_to_exitcode(self._forked.reap())
        self._ended.set()

    @classmethod
    async def told(cls, server: socket.socket, channel: socket.socket) -> ForkedChild:
        """One that was asked for, once it is there; where it never is, the channel is closed.

        Raises:
            ConnectionError: the server is gone.
            OSError: there can be no more processes.
        """
        try:
            channel.setblocking(False)
            number = _number(await asyncio.get_running_loop().sock_recv(channel, ANSWER.size))
            return cls(Forked(server, channel, number))
        except BaseException:
            channel.close()
            raise

    @property
    def pid(self) -> int:
        """Number of the process, which is that of its group as well."""
        return self._forked.number

    async def wait(self, limit_s: float | None = None) -> int | None:
        """Wait until it has ended; its exit status, None where the time is up first."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._ended.wait()
        return self.returncode

    async def kill(self) -> int | None:
        """Kill it with all that stayed in its group; its exit status, None where it does not go away."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            signal_group(self.pid, signal.SIGKILL)
        return await self.wait(KILL_S)
