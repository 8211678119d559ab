"""Death with the parent, and the program that arranges it for another. Standard library only.

`python parent.py PARENT STATUS COMMAND...` has the kernel kill this process when PARENT ends, and puts the command in
its place. What keeps the command from being run is written as a number (errno) to the descriptor STATUS, which is
closed where it runs. So no Python code runs between fork and exec in a program that has threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

NOT_STARTED = 127
"""Exit status: the command cannot be run."""
_PR_SET_PDEATHSIG = 1


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
    os.set_inheritable(status, False)
    die_with_parent(parent)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program that it becomes as well
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(status, str(error.errno).encode())
    raise SystemExit(NOT_STARTED)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
