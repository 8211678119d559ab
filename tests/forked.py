"""Programs of ours begin as forks of a process that has loaded them, and that no test has touched.

To start Python and load a runner, a search or the program itself takes half a second to a second of a processor, and
these tests do it a thousand times. What is forked is a process of its own as ever: a child of the one that starts it,
with its own session, descriptors, environment, command line and confinement. Other commands are executed.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.process import through_launcher

LOADED = (
    "tui_tuner.__main__",
    "tui_tuner.cli.run_commands",
    "tui_tuner.cli.session_commands",
    "tui_tuner.headless",
    "tui_tuner.evaluate.build.compilers.emulator",
    "tui_tuner.evaluate.runner.server",
    "tui_tuner.search.process",
    "tui_tuner.search.surrogate",
)
"""What programs of ours need, whichever it is."""
TUNER_TUI = str(Path(sys.executable).with_name("tuner-tui"))
_CLONE_PARENT = 0x8000
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_ROOM = 1 << 16
"""Bytes for a command line."""
_LONGEST = 1 << 20
_BY_PYTHON = ("PYTHON", "LC_", "LANG", "TEXTUAL")
"""Environment variables of these names tell Python, or modules when they are loaded."""
_REPOSITORY = str(Path(__file__).parents[1])
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONPATH": _REPOSITORY, "OPENBLAS_NUM_THREADS": "1"}
"""As a search has it; and what has threads cannot be forked in this way."""
_TOLD = {name: value for name, value in (os.environ | _ENVIRONMENT).items() if name.startswith(_BY_PYTHON)}
_LAUNCHER = through_launcher([], read=(), write=(), limits=ResourceLimits(), strict=True)[4]
_execute: Callable[..., int] = subprocess._fork_exec  # type: ignore[attr-defined]
_replace = os.execv


def can_fork() -> bool:
    """Whether this machine is one on which this is known to work."""
    return sys.platform == "linux" and os.uname().machine in _SYS_CLONE


class Order(NamedTuple):
    """A program that is to begin."""

    command: list[str]
    environment: dict[str, str]
    directory: str
    kept: list[int]
    begins_session: bool

    @classmethod
    def of(cls, words: Sequence[Any], told: Sequence[Any]) -> Order | None:
        """What `subprocess` is about to execute; None where that is no program of ours, or more than is known here."""
        command = [os.fsdecode(word) for word in words]
        _, closes, kept, directory, variables = told[:5]
        failing, restores, begins_session, group, gid, groups, uid, umask, before = told[12:21]
        ordinary = closes and restores and (group, gid, groups, uid, umask, before) == (-1, None, None, None, -1, None)
        environment = os.environ if variables is None else _parsed(variables)
        if not ordinary or _main_of(command) is None or _tells_python(environment):
            return None
        return cls(
            command,
            dict(environment),
            str(Path.cwd()) if directory is None else os.fsdecode(directory),
            [each for each in kept if each != failing],
            bool(begins_session),
        )


def _parsed(variables: Sequence[bytes]) -> dict[str, str]:
    return dict(os.fsdecode(each).split("=", 1) for each in variables)


def _tells_python(environment: Mapping[str, str]) -> bool:
    """Whether it has Python do something that it does not do in this process."""
    names = (name for name in environment if name.startswith(_BY_PYTHON))
    return any(_TOLD.get(name) != environment[name] for name in names)


def _main_of(command: Sequence[str]) -> Callable[[], object] | None:
    """What Python would do for a command of ours; None for another command."""
    match command:
        case [sys.executable, "-P", "-m", module, *_] if module.startswith("tui_tuner."):
            return lambda: runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [sys.executable, "-I", "-S", "-c", code, *_] if code == _LAUNCHER:
            return lambda: exec(code)  # noqa: S102 - it is ours
        case [program, *_] if program == TUNER_TUI:
            return lambda: runpy.run_path(program, run_name="__main__")
    return None


class Server:
    """A process that has all of it loaded, and forks for this one."""

    def __init__(self) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        self._one = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno()), "x" * _ROOM],
                pass_fds=[theirs.fileno()],
                env=os.environ | _ENVIRONMENT,
                cwd=_REPOSITORY,
            )

    def fork_or_execute(self, words: Sequence[Any], *told: Any) -> int:
        """In place of `subprocess._fork_exec`."""
        order = Order.of(words, told)
        if order is None:
            return _execute(words, *told)
        with self._one:
            socket.send_fds(self._connection, [json.dumps(order).encode()], [*_streams(told), *order.kept])
            return int(self._connection.recv(100))

    def end(self) -> None:
        """Have it end."""
        self._connection.close()
        self._process.wait()


def _streams(told: Sequence[Any]) -> list[int]:
    return [given if given >= 0 else own for own, given in enumerate((told[5], told[8], told[10]))]


def _serve(connection: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as typed to end the tests
    for module in LOADED:
        import_module(module)
    gc.collect()
    gc.freeze()
    while True:
        said, descriptors, _, _ = socket.recv_fds(connection, _LONGEST, 250)
        if not said:
            return
        child = _fork_beside()
        if child == 0:
            connection.detach()
            _begin(Order(*json.loads(said)), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(child).encode())


def _fork_beside() -> int:
    """Fork a child of this process's parent."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    child = int(ctypes.PyDLL(None).syscall(_SYS_CLONE[os.uname().machine], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return child


def _begin(order: Order, descriptors: Sequence[int]) -> NoReturn:
    """Be the program."""
    try:
        atexit._clear()
        random.seed()
        if order.begins_session:
            os.setsid()
        _arrange([0, 1, 2, *order.kept], descriptors)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(order.directory)
        os.environ.clear()
        os.environ.update(order.environment)
        sys.stdin = sys.__stdin__ = _stream(0, "r")  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = _stream(1, "w")  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = _stream(2, "w", errors="backslashreplace")  # type: ignore[misc]
        os.execv = _become_or_replace  # type: ignore[assignment]
        subprocess._fork_exec = _fork_or_execute  # type: ignore[attr-defined]
        _become(order.command)
    finally:
        traceback.print_exc()
        os._exit(255)


def _stream(descriptor: int, mode: str, errors: str = "strict") -> io.TextIOWrapper:
    return cast("io.TextIOWrapper", open(descriptor, mode, closefd=False, errors=errors))


def _arrange(wanted: Sequence[int], given: Sequence[int]) -> None:
    """Have these descriptors under those numbers, and no other ones."""
    above = max(*wanted, *given) + 1
    aside: list[int] = []
    for descriptor in given:
        os.dup2(descriptor, above + len(aside), inheritable=False)
        aside.append(above + len(aside))
    for number, descriptor in zip(wanted, aside, strict=True):
        os.dup2(descriptor, number)
    kept = sorted({*wanted})
    for first, after in zip(kept, [*kept[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(first + 1, after)


def _become_or_replace(path: str, command: Sequence[str]) -> NoReturn:
    if _main_of(command) is None:
        _replace(path, list(command))
    _become(command)


def _fork_or_execute(words: Sequence[Any], *told: Any) -> int:
    """In a program of ours: what it starts is forked from itself."""
    order = Order.of(words, told)
    if order is None:
        return _execute(words, *told)
    child = os.fork()
    if child == 0:
        gc.freeze()
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        _begin(order, [*_streams(told), *order.kept])
    return child


def _become(command: Sequence[str]) -> NoReturn:
    """Do what Python would do for a command, and end as it would."""
    main = _main_of(command)
    assert main is not None
    _show(command)
    sys.orig_argv = list(command)
    sys.argv = list(command[{"-P": 3, "-I": 4}.get(command[min(1, len(command) - 1)], 0) :])
    status: Any = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
        if isinstance(status, str):
            sys.stderr.write(f"{status}\n")
            status = 1
    except BaseException as error:
        traceback.print_exc()
        status = 130 if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status or 0)


def _show(command: Sequence[str]) -> None:
    """Have the system name this process by its command."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    words = b"\0".join(map(os.fsencode, command))[: end - start - 1]
    ctypes.memmove(start, words.ljust(end - start, b"\0"), end - start)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
