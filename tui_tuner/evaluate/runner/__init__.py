"""The process that holds a device: what is asked of it, how it answers, who watches it.

Here: one that starts while the program itself still loads, since loading and the device's context take a second
together. Whoever needs the first runner that is not confined takes it; nobody needs to."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tui_tuner.processes import driver_environment
from tui_tuner.processes.child import Child, Program, start

_CONTROL = Path("/dev/nvidiactl")
"""There where an NVIDIA driver is loaded."""
AHEAD = "ahead"
"""Argument of a runner that first of all waits for where its output goes."""


@dataclass(frozen=True)
class Ahead:
    """A runner that waits."""

    child: Child
    connection: socket.socket


_waiting: list[Ahead] = []


async def start_ahead(device: str) -> None:
    """Start a runner where a session on this device surely needs one that is not confined.

    Args:
        device: as the user names it, "auto", "cuda:0".
    """
    if not (device.startswith("cuda") or (device == "auto" and _CONTROL.exists())):
        return
    ours, theirs = socket.socketpair()
    with theirs:
        command = (sys.executable, "-P", "-m", "tui_tuner.evaluate.runner.server", str(theirs.fileno()), AHEAD)
        descriptors = (theirs.fileno(),)
        program = Program(command, driver_environment(), descriptors=descriptors, dies_with_us=False)
        try:
            _waiting.append(Ahead(await start(program), ours))
        except BaseException:
            ours.close()
            raise


def taken(output: IO[Any]) -> Ahead | None:
    """The runner that waits, which is nobody else's from now on; None where none does, or not any more.

    Args:
        output: the file that it writes to from now on.
    """
    if not _waiting:
        return None
    runner = _waiting.pop()
    try:
        socket.send_fds(runner.connection, [b"!"], [output.fileno()])
    except OSError:
        runner.connection.close()
        return None
    return runner


def send_home() -> None:
    """Let the runner that waits end: nobody needs it."""
    while _waiting:
        _waiting.pop().connection.close()
