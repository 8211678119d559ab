"""A process of ours that stays and forks: as it never had anything but a module of its own, it is quick to fork."""

from __future__ import annotations

import os
import socket
import sys
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import Popen
from typing import TypeVar

from tui_tuner.processes.child import start_server

PACKAGES = Path(__file__).parents[3]
"""Where this package lies."""

_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from {module} import {entry}; {entry}(sys.argv[2:])"

Answer = TypeVar("Answer")


def own_command(module: str, entry: str, *arguments: str, with_site: bool = False) -> tuple[str, ...]:
    """The command that calls a function of a module of ours with the arguments.

    Args:
        with_site: whether it needs installed packages, and with them the module `site`.
    """
    flags = ("-I",) if with_site else ("-I", "-S")
    return (sys.executable, *flags, "-c", _BOOT.format(module=module, entry=entry), str(PACKAGES), *arguments)


class ServerProcess:
    """A process that serves over a socket. It starts when it is first needed, again if it is gone, and ends with this.

    Args:
        module: whose `serve` it calls, with this process, the descriptor of the connection and the arguments.
        environment: all that it gets.
    """

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str], with_site: bool = False) -> None:
        self._module, self._arguments = module, arguments
        self._environment, self._with_site = environment, with_site
        self._connection: socket.socket | None = None
        self._end: Callable[[], object] = lambda: None

    @property
    def has_started(self) -> bool:
        """Whether it was started and not closed; it may be gone."""
        return self._connection is not None

    def asked(self, attempt: Callable[[socket.socket], Answer]) -> Answer:
        """What comes of an attempt with the connection, or of another where the process was killed.

        Raises:
            OSError: it cannot be started.
        """
        try:
            return attempt(self._connection or self.start())
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
            command = own_command(self._module, "serve", *arguments, with_site=self._with_site)
            process = start_server(command, environment=self._environment, descriptor=theirs.fileno())
        self._connection, self._end = ours, weakref.finalize(self, _end, ours, process)
        return ours

    def close(self) -> None:
        """End it, with all that it forked."""
        self._end()
        self._connection = None


def _end(connection: socket.socket, process: Popen[bytes]) -> None:
    connection.close()
    process.kill()
    process.wait()
