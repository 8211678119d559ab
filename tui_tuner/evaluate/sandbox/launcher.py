"""The program between us and a compiler: runs it confined, within limits, and ends as it ends. Standard library only.

Arguments: `strict` (end where confinement cannot be had), `parent=PID`, `limits=CPU,MEMORY,FILE,DESCRIPTORS`,
`read=PATH` and `write=PATH` as often as needed, `--`, the command.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tui_tuner.evaluate.sandbox.confinement import Confinement, confine, leave_network, leave_network_and_processes
from tui_tuner.evaluate.sandbox.system_calls import stay_in_group
from tui_tuner.processes.parent import NOT_STARTED, die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


UNCONFINED = 125
"""Exit status: confinement was demanded and is not available."""
REPORT = "TUNER_CONFINEMENT"
"""Environment variable that tells the command how it is confined: Landlock ABI, then the network's state."""


def main(arguments: list[str]) -> NoReturn:
    """Run the command in a confined child and end as it ends; nothing that it started outlives this process."""
    end = arguments.index("--")
    options, command = arguments[:end], arguments[end + 1 :]
    parent = _values(options, "parent=")[0]
    die_with_parent(int(parent))
    processes = leave_network_and_processes()
    namespace = processes or leave_network()
    apply_limits(ResourceLimits(*map(int, _values(options, "limits=")[0].split(","))))
    try:
        run_as_child(lambda: _become(command, options, namespace, processes), namespace=processes)
    except OSError as error:
        _end(NOT_STARTED, f"{command[0]}: {error.strerror}")


def _become(command: list[str], options: Sequence[str], namespace: bool, processes: bool) -> NoReturn:
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
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        _end(NOT_STARTED, f"{command[0]}: {error.strerror}")


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
    sys.stderr.write(f"sandbox: {message}\n")
    raise SystemExit(status)


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


def run_as_child(task: Callable[[], NoReturn], *, namespace: bool) -> NoReturn:
    """Do a task in a child and end this process with its exit status or by its signal.

    A second child, the guard, ends what is left of the first one's children, also where this process is killed and
    can do nothing any more. It notices by a pipe, which the kernel closes in every case.

    Args:
        namespace: whether this process has just made a namespace for its children's processes. The guard becomes
            process 1 there, with which the kernel ends all others. The task is not made process 1, since that one
            ignores the signals by which programs end themselves. Without a namespace the guard kills its process
            group, if that was made for this process; what is confined cannot leave it, see `system_calls`.

    Raises:
        OSError: no process can be started.
    """
    kills_group = not namespace and os.getpgrp() == os.getpid()
    guarded, alive = os.pipe()
    guard = os.fork()
    if guard == 0:
        os.close(alive)
        _stand_guard(guarded, kills_group)
    os.close(guarded)
    child = os.fork()
    if child == 0:
        os.close(alive)
        task()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(BrokenPipeError):  # where somebody killed the guard
        os.write(alive, _DONE)
    os.waitpid(guard, 0)
    _end_likewise(status)


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
