"""Runner processes that a process with all imports behind it forks, so that only the first waits for Python.

Which it is that runs is the same: `tui_tuner.evaluate.runner.main` in a process and a session of its own, with the
variables, the directory, the log and the socket that were asked for. Whole programs, and runners that are confined
before they start, start as ever.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn

from tui_tuner.processes import child as cold
from tui_tuner.processes import environment_without_keys
from tui_tuner.processes.child import Child, Program

MODULE = ("-P", "-m", "tui_tuner.evaluate.runner")
_DIGITS = 12


@dataclass
class Forked:
    """What asyncio's `Process` is of a child that is not ours to wait for.

    Attributes:
        told: where its number was said, and how it ended will be.
    """

    pid: int
    told: int
    returncode: int | None = None

    async def wait(self) -> int:
        if self.returncode is None:
            loop = asyncio.get_running_loop()
            ended = asyncio.Event()
            loop.add_reader(self.told, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(self.told)
            self.returncode = int(os.read(self.told, _DIGITS) or -signal.SIGKILL)
            os.close(self.told)
        return self.returncode


class WarmRunners:
    """Starts programs as `processes.child.start` does, a runner by a fork."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None
        self._server = None

    async def start(self, program: Program) -> Child:
        if tuple(program.command[1:4]) != MODULE:
            return await cold.start(program)
        connection = self._connection or self._start()
        told, telling = os.pipe()
        with TemporaryFile() as file:
            file.write(json.dumps([dict(program.environment), str(Path.cwd())]).encode())
            file.seek(0)
            given = [file.fileno(), program.output.fileno(), program.descriptors[0], telling]
            socket.send_fds(connection, [b"."], given)
        os.close(telling)
        return Child(Forked(int(os.read(told, _DIGITS)), told))

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            command = (sys.executable, "-P", __file__, str(os.getpid()), str(theirs.fileno()))
            self._server = cold.start_server(
                command, environment=environment_without_keys(), descriptor=theirs.fileno()
            )
        self._connection = ours
        return ours

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._server.kill()
            self._server.wait()


def serve(connection: socket.socket) -> None:
    """Fork a runner for every request, and tell how it ended."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(connection, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.data is not None:
                    waiting.unregister(key.fd)
                    _reap(key.fd, *key.data)
                elif not _fork_next(connection, waiting):
                    return


def _fork_next(connection: socket.socket, waiting: selectors.BaseSelector) -> bool:
    said, descriptors, _, _ = socket.recv_fds(connection, 1, 4)
    if not said:
        return False
    pid = os.fork()
    if pid == 0:
        _keep_only(descriptors)
        _run(*descriptors)
    waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, descriptors[3]))
    for descriptor in descriptors[:3]:
        os.close(descriptor)
    return True


def _keep_only(descriptors: list[int]) -> None:
    edges = [2, *sorted(descriptors), os.sysconf("SC_OPEN_MAX")]
    for before, after in pairwise(edges):
        os.closerange(before + 1, after)


def _frame(number: int) -> bytes:
    return f"{number:{_DIGITS}}".encode()


def _reap(pidfd: int, pid: int, telling: int) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(pidfd)
    with suppress(BrokenPipeError):  # nobody wants to know
        os.write(telling, _frame(code))
    os.close(telling)


def _run(request: int, log: int, channel: int, telling: int) -> NoReturn:
    from tui_tuner.evaluate import runner

    try:
        os.setsid()
        os.write(telling, _frame(os.getpid()))
        os.close(telling)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.close(log)
        with os.fdopen(request) as file:
            environment, directory = json.load(file)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        sys.argv = ["runner", str(channel)]
        runner.main()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def main() -> None:
    from tui_tuner.evaluate import runner
    from tui_tuner.evaluate.devices.native import device

    parent, descriptor = map(int, sys.argv[1:])
    runner.die_with_parent(parent)
    assert device
    gc.freeze()
    serve(socket.socket(fileno=descriptor))


if __name__ == "__main__":
    main()
