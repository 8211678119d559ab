"""The process that holds a device: what is asked of it, how it answers, who watches it.

Here: where a runner that is not confined comes from. It is forked from a process that has loaded all that a runner
needs, so that one which follows a crash, or serves another device, is there at once. The first may be asked for while
the program itself still loads, since loading and the device's context take a second together.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from tui_tuner.processes import driver_environment
from tui_tuner.processes.server import AS_STARTED, ForkedChild, ServerProcess, asked_to_fork, can_watch_forks

_CONTROL = Path("/dev/nvidiactl")
"""There where an NVIDIA driver is loaded."""
AHEAD, NOW = b"a", b"n"
"""What a runner is told first: to load what drives a CUDA device; with the file that it writes to, to begin."""


class Asked(NamedTuple):
    """A runner that was asked for: the connections to the server and to itself."""

    server: socket.socket
    channel: socket.socket


class _OfThread(threading.local):
    """What a thread has: the system ends what a thread started when that ends."""

    def __init__(self) -> None:
        self.server: ServerProcess | None = None
        self.ahead: list[Asked] = []


_ours = _OfThread()


def start_ahead(device: str) -> None:
    """Ask for a runner where a session on this device surely needs one that is not confined.

    Args:
        device: as the user names it, "auto", "cuda:0".
    """
    if can_watch_forks() and (device.startswith("cuda") or (device == "auto" and _CONTROL.exists())):
        with suppress(OSError):  # nobody needs it
            _ours.ahead.append(_asked())
            _ours.ahead[-1].channel.send(AHEAD)


async def forked(output: IO[Any]) -> tuple[ForkedChild, StreamReader, StreamWriter]:
    """A runner that is to begin, the one that was asked for ahead if there is one, and the connection to it.

    Args:
        output: the file that it writes to.

    Raises:
        OSError: it cannot be started.
    """
    while _ours.ahead:
        with suppress(OSError):
            return await _begun(_ours.ahead.pop(), output)
    return await _begun(_asked(), output)


def send_home() -> None:
    """Let the runner that was asked for ahead end: nobody needs it."""
    while _ours.ahead:
        _ours.ahead.pop().channel.close()


def _asked() -> Asked:
    if _ours.server is None:
        module = "tui_tuner.evaluate.runner.server"
        _ours.server = ServerProcess(module, environment=driver_environment(), flags=AS_STARTED)
    return _ours.server.asked(lambda server: Asked(server, asked_to_fork(server)))


async def _begun(runner: Asked, output: IO[Any]) -> tuple[ForkedChild, StreamReader, StreamWriter]:
    child = await ForkedChild.told(*runner)
    try:
        socket.send_fds(runner.channel, [NOW], [output.fileno()])
        return child, *await asyncio.open_connection(sock=runner.channel)
    except BaseException:
        runner.channel.close()
        await child.kill()
        raise
