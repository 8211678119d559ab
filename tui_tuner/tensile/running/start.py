"""Starts a process in a group of its own, with both its streams in one pipe."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from dataclasses import dataclass

from tui_tuner.tensile.running.environment import environment

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class Started:
    """A process and what it prints.

    The pipe is ours and not asyncio's: asyncio takes a process for running as long as anyone holds its pipe open, and
    what Tensile leaves behind may do that.
    """

    process: Process
    printed: asyncio.StreamReader
    transport: asyncio.ReadTransport

    def close(self) -> None:
        """Close the pipe."""
        self.transport.close()


async def start(command: Sequence[str]) -> Started:
    """Start a command.

    Raises:
        OSError: it cannot be started.
    """
    ours, theirs = os.pipe()
    printed = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(printed)
    with os.fdopen(theirs, "wb", 0):
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(ours, "rb", 0))
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=DEVNULL,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
                env=environment(),
                preexec_fn=_die_with_the_program,
            )
        except BaseException:
            transport.close()
            raise
    return Started(process, printed, transport)


def _die_with_the_program() -> None:
    """In the child: end when the program is killed, for then nobody ends Tensile and the next run shares the GPU.

    What Tensile itself had started ends with the pipe, at the next line that it prints.
    """
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
