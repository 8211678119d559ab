"""A process that stays and forks one for each request: its own side of `processes.server`. Standard library only.

A fork starts at once, as all that its work needs is loaded, and it never had anything else.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from tui_tuner.processes.parent import die_with_parent

REQUEST = struct.Struct("<ci")
ANSWER = struct.Struct("<i")
FORK, SETTLE, REAP = b"f", b"s", b"r"
"""Requests: fork, with the descriptor of a channel to the fork, through which its number is told, or the negative error
where there can be none; wait until one has stopped or ended; end one with all that it started, answered with how it
ended, as by `os.waitpid`."""

Work = Callable[[int], object]
"""What a fork does before it ends, with the descriptor of its channel."""


def serve(arguments: list[str], work: Work) -> NoReturn:
    """Fork, and see to the end of the forks, until the other side closes the connection.

    Args:
        arguments: process that started this one, descriptor of the connection.
    """
    parent, descriptor = map(int, arguments)
    die_with_parent(parent)
    gc.freeze()
    with socket.socket(fileno=descriptor) as connection:
        while _serve_next(connection, work):
            pass
    os._exit(0)


def _serve_next(connection: socket.socket, work: Work) -> bool:
    said, descriptors, _, _ = socket.recv_fds(connection, REQUEST.size, 1, socket.MSG_CMSG_CLOEXEC)
    if not said:
        return False
    request, number = REQUEST.unpack(said)
    if request == FORK:
        _fork(connection, work, descriptors)
    elif request == SETTLE:
        os.waitid(os.P_PID, number, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        connection.sendall(ANSWER.pack(0))
    else:
        connection.sendall(ANSWER.pack(_reaped(number)))
    return True


def _fork(connection: socket.socket, work: Work, descriptors: Sequence[int]) -> None:
    server = os.getpid()
    try:
        number = os.fork()
    except OSError as error:
        number = -(error.errno or 1)
    if number == 0:
        connection.close()
        _work(server, work, *descriptors)
    with socket.socket(fileno=descriptors[0]) as channel, suppress(OSError):  # nobody may be there any more
        channel.sendall(ANSWER.pack(number))


def _work(server: int, work: Work, channel: int) -> NoReturn:
    status = 1
    try:
        die_with_parent(server)
        os.setsid()
        work(channel)
        status = 0
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(status)


def _reaped(number: int) -> int:
    for kill in (os.kill, os.killpg):  # before it is reaped, so that its number cannot be another's
        with suppress(ProcessLookupError):
            kill(number, signal.SIGKILL)
    return os.waitpid(number, 0)[1]
