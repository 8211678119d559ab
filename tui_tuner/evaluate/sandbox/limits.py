"""Resource limits, death with the parent, and the environment of a confined child. Standard library only."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_PR_SET_PDEATHSIG = 1
_GIB = 2**30


class Limits(NamedTuple):
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


def apply_limits(limits: Limits) -> None:
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


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill the calling process when the thread that started it ends.

    Args:
        parent: the process that started this one; if it has ended already, this one ends now.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if parent is not None and os.getppid() != parent:
        raise SystemExit(1)


def environment(program: str, directory: Path | str) -> dict[str, str]:
    """All the environment a confined child gets: no keys, no flags, no library paths of the user's.

    Args:
        program: the program to run; its directory is searched first.
        directory: the work directory, which is home and holds temporary files.
    """
    work = os.fspath(directory)
    return {
        "PATH": f"{os.path.dirname(program)}:/usr/local/bin:/usr/bin:/bin",  # noqa: PTH120 - pathlib loads slowly
        "HOME": work,
        "TMPDIR": work,
        "LANG": "C.UTF-8",
    }
