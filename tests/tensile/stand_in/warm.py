"""Starts the stand-in out of a process that has loaded it: a fork takes a tenth of the time of Python's start."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.tensile.stand_in import PLACES
from tui_tuner.processes.child import Child, Pipes, Program, signal_group, start

_SERVER = """\
import sys
sys.path += {places}
from tests.tensile.stand_in.warm import serve
serve({descriptor})
"""


def serve(descriptor: int) -> None:
    """Fork for every request; runs in a process of its own, until nobody is left to ask."""
    from tests.tensile.stand_in.main import main

    asked = socket.socket(fileno=descriptor)
    while True:
        request, descriptors, *_ = socket.recv_fds(asked, 1 << 20, 2)
        if not request:
            break
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            _watch(json.loads(request), *descriptors, main)
        for one in descriptors:
            os.close(one)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _watch(request, output, told, main):
    pid = os.fork()
    if pid:
        os.close(output)
        _, status = os.waitpid(pid, 0)
        os.write(told, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    os.setsid()
    os.write(told, f"{os.getpid()}\n".encode())  # who reads it may signal the group
    os.close(told)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["command"]
    code = 1
    try:
        main(sys.argv[1:], request["options"])
        code = 0
    except SystemExit as end:
        code = int(end.code or 0) & 0xFF
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Forked:
    """What `Child` asks of asyncio's process."""

    def __init__(self, pid: int, told: asyncio.StreamReader) -> None:
        self.pid, self.returncode = pid, None
        self._end = asyncio.ensure_future(told.readline())

    async def wait(self) -> int:
        self.returncode = int(await asyncio.shield(self._end))
        return self.returncode


class WarmStart:
    """Takes the place of `processes.child.start` for the stand-in; what is none is started as ever.

    The process that forks starts with the first run.
    """

    def __init__(self) -> None:
        self._ask: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        if self._ask is not None and self._server is not None:
            self._ask.close()
            self._server.wait()

    def _asked(self) -> socket.socket:
        if self._ask is None:
            self._ask, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            code = _SERVER.format(places=PLACES, descriptor=theirs.fileno())
            self._server = subprocess.Popen([sys.executable, "-I", "-c", code], pass_fds=[theirs.fileno()])
            theirs.close()
        return self._ask

    async def start(self, program: Program) -> Child:
        own = Path(program.command[0])
        if not own.is_file() or "tests.tensile.stand_in.main" not in own.read_text():
            return await start(program)
        with Pipes() as pipes:
            output, stdout = await pipes.reader(asyncio.subprocess.PIPE)
            told, tells = await pipes.reader(asyncio.subprocess.PIPE)
            request = {
                "command": list(program.command),
                "environment": dict(program.environment),
                "options": str(own.with_name("options.json")),
            }
            socket.send_fds(self._asked(), [json.dumps(request).encode()], [stdout, tells])
        begun = asyncio.ensure_future(told.readline())
        try:
            process = _Forked(int(await asyncio.shield(begun)), told)
        except BaseException:
            try:
                signal_group(int(await begun), signal.SIGKILL)
            finally:
                pipes.close()
            raise
        return Child(process, None, output, None, pipes)
