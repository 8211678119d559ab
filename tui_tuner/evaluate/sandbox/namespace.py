"""Namespaces of one's own for network and processes, without privileges. Standard library only."""

from __future__ import annotations

import ctypes
import os

_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000


def leave_network() -> bool:
    """Move the calling single-threaded process into a network with no way out; call it before Landlock.

    Returns:
        Whether it was moved; some systems forbid user namespaces to ordinary users.
    """
    return _move(_CLONE_NEWNET)


def leave_network_and_processes() -> bool:
    """Do as `leave_network`, and have the kernel end all that this process forks when the first it forks ends.

    Returns:
        Whether both were done; else neither.
    """
    return _move(_CLONE_NEWNET | _CLONE_NEWPID)


def _move(namespaces: int) -> bool:
    """Move to new namespaces, which a user namespace of one's own gives the right to."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(ctypes.c_int(_CLONE_NEWUSER | namespaces)) != 0:
        return False
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    return True


def _write(path: str, text: str) -> None:
    """Write a map; without it the process keeps its rights to files and only sees other numbers."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(descriptor, text.encode())
    except OSError:
        pass
    finally:
        os.close(descriptor)
