"""The programs between us and a compiler: run it confined, within limits, and tell how it ends. Standard library only.

`main` runs one command. `serve` stays and forks for every command that it is asked for, which spares each of them the
start of Python.

Arguments of a command: `strict` (end where confinement cannot be had), `parent=PID`,
`limits=CPU,MEMORY,FILE,DESCRIPTORS`, `read=PATH` and `write=PATH` as often as needed, `--`, the command.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import resource
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tui_tuner.evaluate.sandbox.confinement import Confinement, confine, leave_network, stay_in_group
from tui_tuner.processes.parent import NOT_STARTED, die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


UNCONFINED = 125
"""Exit status: confinement was demanded and is not available."""
REPORT = "TUNER_CONFINEMENT"
"""Environment variable that tells the command how it is confined: Landlock ABI, then the network's state."""


def main(arguments: list[str]) -> NoReturn:
    """Run the command in a confined child and end as it ends; nothing that it started outlives this process."""
    _end_likewise(_run(arguments, None))


def serve(arguments: list[str]) -> NoReturn:
    """Fork a launcher for every request, until the other side closes the connection.

    A request is three descriptors: of a file with a JSON object (`arguments` as for `main`, `environment`,
    `directory`), of what takes the command's output, and of a pipe. Into that pipe the launcher writes the number of
    its process, which is that of its session and group as well, and then how the command ended; it closes when the
    launcher is gone.

    Args:
        arguments: process that started this one, descriptor of the connection and, where there is one, a Python
            script. It is loaded and its `warm_up` called with the rest of the arguments; a command that would have
            Python run this script is then its `main` called in the fork.
    """
    parent, descriptor, *script = arguments
    die_with_parent(int(parent))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the launchers
    warm = _warmed(script)
    if script and (warm is None or _threads() > 1):  # with threads it can neither be forked nor confined
        os.set_inheritable(int(descriptor), True)
        os.execv(sys.executable, [*sys.orig_argv[: -len(arguments)], parent, descriptor])  # noqa: S606 - no shell
    gc.freeze()
    with socket.socket(fileno=int(descriptor)) as connection:
        while _fork_next(connection, warm):
            pass
    os._exit(0)


def _fork_next(connection: socket.socket, warm: WarmScript | None) -> bool:
    """Wait for a request and fork; whether there was one."""
    said, descriptors, _, _ = socket.recv_fds(connection, 1, 3, socket.MSG_CMSG_CLOEXEC)
    if not said:
        return False
    server = os.getpid()
    if os.fork() == 0:
        status = 1
        try:
            connection.close()
            status = _launch(server, warm, descriptors)
        finally:
            os._exit(status)
    for descriptor in descriptors:
        os.close(descriptor)
    return True


def _launch(server: int, warm: WarmScript | None, descriptors: Sequence[int]) -> int:
    """Be the launcher of one command."""
    request, output, told = descriptors
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.write(told, b"%d\n" % os.getpid())
    for stream in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(output, stream)
    os.close(output)
    with os.fdopen(request, encoding="utf-8") as file:
        job = json.load(file)
    os.chdir(job["directory"])
    os.environ.update(job["environment"])  # what the server has besides is to be kept: libraries may point there
    status = _run([f"parent={server}", *job["arguments"]], warm, told)
    os.write(told, b"%d\n" % status)
    return 0


class WarmScript(NamedTuple):
    """A Python script that is loaded, with its `main`."""

    path: str
    main: Callable[[list[str]], int]

    def is_meant(self, command: list[str]) -> bool:
        """Whether a command would start Python with this script."""
        return command[:3] == [sys.executable, "-I", self.path]


def _warmed(script: list[str]) -> WarmScript | None:
    """The script, ready; None if there is none, or if it fails."""
    if not script:
        return None
    path, *arguments = script
    spec = importlib.util.spec_from_file_location("warm_script", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        module.warm_up(arguments)
    except Exception:
        return None
    return WarmScript(path, module.main)


def _threads() -> int:
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1  # noqa: PTH208,PTH112


def _run(arguments: list[str], warm: WarmScript | None, *ours: int) -> int:
    """Run a command in a confined child; its exit status, negative for a signal.

    Args:
        ours: descriptors that only this process holds.
    """
    end = arguments.index("--")
    options, command = arguments[:end], arguments[end + 1 :]
    die_with_parent(int(_values(options, "parent=")[0]))
    processes = leave_network(and_processes=True)
    namespace = processes or leave_network()
    apply_limits(ResourceLimits(*map(int, _values(options, "limits=")[0].split(","))))
    try:
        return run_as_child(
            lambda: _become(command, options, namespace, processes, warm), namespace=processes, ours=ours
        )
    except OSError as error:
        _say(f"{command[0]}: {error.strerror}")
        return NOT_STARTED


def _become(
    command: list[str], options: Sequence[str], namespace: bool, processes: bool, warm: WarmScript | None
) -> NoReturn:
    """Confine this process and put the command in its place."""
    ends_whole = stay_in_group() or processes
    try:
        confinement = confine(read=_values(options, "read="), write=_values(options, "write="))
    except OSError as error:
        _end(UNCONFINED, str(error))
    if "strict" in options and not (confinement.abi and (namespace or confinement.tcp_refused)):
        _end(UNCONFINED, "neither Landlock nor a network namespace can be had")
    if "strict" in options and not ends_whole:
        _end(UNCONFINED, "what it starts could outlive it: neither a process namespace nor seccomp can be had")
    os.environ[REPORT] = f"{confinement.abi} {_network(confinement, namespace)}"
    if warm is not None and warm.is_meant(command):
        _end_with(warm.main, command[3:])
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        _end(NOT_STARTED, f"{command[0]}: {error.strerror}")


def _end_with(script: Callable[[list[str]], int], arguments: list[str]) -> NoReturn:
    """Run a script's `main` and end as Python would."""
    status = 1
    try:
        status = script(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def is_confined() -> bool:
    """Whether a launcher confined this process: files and network out of reach of all its threads."""
    abi, network = os.environ.get(REPORT, "0 open").split(" ")
    return abi != "0" and network != "open"


def _values(options: Sequence[str], prefix: str) -> list[str]:
    return [option.removeprefix(prefix) for option in options if option.startswith(prefix)]


def _network(confinement: Confinement, namespace: bool) -> str:
    if namespace:
        return "namespace"
    return "tcp" if confinement.tcp_refused else "open"


def _end(status: int, message: str) -> NoReturn:
    _say(message)
    os._exit(status)


def _say(message: str) -> None:
    sys.stderr.write(f"sandbox: {message}\n")
    sys.stderr.flush()


_GIB = 2**30


class ResourceLimits(NamedTuple):
    """Limits of every single process in the sandbox; 0 is no limit.

    Attributes:
        cpu_s: processor time, seconds.
        memory: address space, bytes.
        file: size of a written file, bytes.
        descriptors: open files.
    """

    cpu_s: int = 60
    memory: int = 4 * _GIB
    file: int = _GIB // 4
    descriptors: int = 256


def apply_limits(limits: ResourceLimits) -> None:
    """Put the limits in force for the calling process and all that it starts; core files are off."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for which, amount in (
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NOFILE, limits.descriptors),
    ):
        hard = resource.getrlimit(which)[1]
        if amount and (hard == resource.RLIM_INFINITY or amount < hard):
            resource.setrlimit(which, (amount, amount))


_DONE = b"."


def run_as_child(task: Callable[[], NoReturn], *, namespace: bool, ours: Sequence[int] = ()) -> int:
    """Do a task in a child; its exit status, negative for a signal.

    A second child, the guard, ends what is left of the first one's children, also where this process is killed and
    can do nothing any more. It notices by a pipe, which the kernel closes in every case.

    Args:
        namespace: whether this process has just made a namespace for its children's processes. The guard becomes
            process 1 there, with which the kernel ends all others. The task is not made process 1, since that one
            ignores the signals by which programs end themselves. Without a namespace the guard kills its process
            group, if that was made for this process; what is confined cannot leave it, see `confinement`.
        ours: descriptors that neither child gets.

    Raises:
        OSError: no process can be started.
    """
    kills_group = not namespace and os.getpgrp() == os.getpid()
    guarded, alive = os.pipe()
    guard = os.fork()
    if guard == 0:
        _close(alive, *ours)
        _stand_guard(guarded, kills_group)
    os.close(guarded)
    child = os.fork()
    if child == 0:
        _close(alive, *ours)
        task()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(BrokenPipeError):  # where somebody killed the guard
        os.write(alive, _DONE)
    os.waitpid(guard, 0)
    return status


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _stand_guard(guarded: int, kills_group: bool) -> NoReturn:
    """Wait until the parent has reaped its child or is gone, and end; never returns to the parent's code."""
    try:
        if os.read(guarded, 1) != _DONE and kills_group:
            os.killpg(0, signal.SIGKILL)
    finally:
        os._exit(0)


def _end_likewise(status: int) -> NoReturn:
    """End with an exit status or, where it is negative, by that signal."""
    if status < 0:
        with suppress(OSError):  # that of SIGKILL cannot be set, and need not be
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)  # nothing is left to be written, and an orderly end takes milliseconds
