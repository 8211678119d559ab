"""Death with the parent, and the program that arranges it for another. Standard library only.

`python parent.py PARENT STATUS COMMAND...` has the kernel kill this process when PARENT ends, and puts the command in
its place. What keeps the command from being run is written as a number (errno) to the descriptor STATUS, which is
closed where it runs. So no Python code runs between fork and exec in a program that has threads.

`python parent.py keep PARENT STATUS COMMAND...` stays: it runs the command, ends as that does, and nothing that the
command started outlives it, wherever that went. A SIGTERM, which it also gets when PARENT ends, ends all of it at once.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

NOT_STARTED = 127
"""Exit status: the command cannot be run."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill the calling process when the thread that started it ends; nothing where it is not Linux.

    Args:
        parent: the process that started this one; if it has ended already, this one ends now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if parent is not None and os.getppid() != parent:
        raise SystemExit(1)


def main(parent: int, status: int, command: list[str]) -> NoReturn:
    """Become the command."""
    die_with_parent(parent)
    _become(status, command)


def keep(parent: int, status: int, command: list[str]) -> NoReturn:
    """Run the command and end as it ends, with all that it started. Linux only."""
    awaited = (signal.SIGTERM, signal.SIGCHLD)
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM))
    libc.prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))
    if os.getppid() != parent:
        raise SystemExit(1)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
        os.setsid()
        die_with_parent(keeper)
        _become(status, command)
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))  # what it writes is at its end when the command is
    ended: dict[int, int] = {}
    while child not in ended and signal.sigwait(awaited) != signal.SIGTERM:
        ended |= _reaped(os.WNOHANG)
    while _kill_children():
        ended |= _reaped(0)
    code = os.waitstatus_to_exitcode(ended.get(child, signal.SIGKILL))
    if code < 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(keeper, -code)
    os._exit(code)


def _reaped(options: int) -> dict[int, int]:
    """Children that have ended, with their status; unless it says not to, it waits for one."""
    ended: dict[int, int] = {}
    try:
        while (found := os.waitpid(-1, options))[0]:
            ended[found[0]] = found[1]
            options = os.WNOHANG
    except ChildProcessError:
        pass
    return ended


def _kill_children() -> bool:
    """Kill the children of this process, to which the orphans among its descendants belong; whether there are any."""
    own, found = str(os.getpid()), False
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208 - pathlib loads slowly
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                parent = file.read().rpartition(b")")[2].split()[1].decode()
            if parent == own:
                found = True
                os.kill(int(name), signal.SIGKILL)
        except (OSError, IndexError):  # it is gone
            continue
    return found


def _become(status: int, command: list[str]) -> NoReturn:
    os.set_inheritable(status, False)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program that it becomes as well
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(status, str(error.errno).encode())
    raise SystemExit(NOT_STARTED)


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
