"""What a process gives up for good: file system and TCP rights by Landlock, network and processes by namespaces.

Standard library only, like the launcher, which is small where it is forked for every build.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


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


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_QUERY_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WRITE = 0xFFFF & ~(_EXECUTE | _MAKE_CHAR | _MAKE_BLOCK)

_KNOWN_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of file rights by ABI; 16 from ABI 5 on."""
_TCP_BIND_CONNECT = 0b11  # from ABI 4
_SCOPE_ABSTRACT_UNIX_SIGNAL = 0b11  # from ABI 6

_libc = ctypes.CDLL(None, use_errno=True)


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class Confinement(NamedTuple):
    """What was put in force.

    Attributes:
        abi: version of Landlock, 0 where the kernel has none and nothing is confined.
        tcp_refused: whether TCP connections are refused.
        skipped: paths that are not there and so carry no rule.
    """

    abi: int
    tcp_refused: bool
    skipped: tuple[str, ...]


def abi_version() -> int:
    """The version of Landlock that this kernel enforces, 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_QUERY_VERSION))))


def confine(*, read: Sequence[Path | str], write: Sequence[Path | str] = (), network: bool = False) -> Confinement:
    """Confine the calling thread and all that it starts; call it in a child, after fork and before exec.

    Every path not named is out of reach. Nothing undoes it.

    Args:
        read: directories and files that may be read and executed.
        write: directories and files that may be read and written, device nodes included; not executed.
        network: whether TCP stays allowed.

    Raises:
        OSError: the kernel knows Landlock and refused the rules.
    """
    abi = abi_version()
    if abi == 0:
        return Confinement(0, False, ())
    rights = (1 << _KNOWN_RIGHTS.get(abi, 16)) - 1
    refuse_tcp = abi >= 4 and not network
    attributes = _RulesetAttributes(
        rights, _TCP_BIND_CONNECT if refuse_tcp else 0, _SCOPE_ABSTRACT_UNIX_SIGNAL if abi >= 6 else 0
    )
    ruleset = _checked("create", _CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(24), ctypes.c_uint32(0))
    try:
        skipped = _allow(ruleset, read, _READ & rights) + _allow(ruleset, write, _WRITE & rights)
        _restrict(ruleset)
    finally:
        os.close(ruleset)
    return Confinement(abi, refuse_tcp, skipped)


def _allow(ruleset: int, paths: Iterable[Path | str], rights: int) -> tuple[str, ...]:
    """Add one rule a path and return the paths that cannot be opened."""
    skipped = []
    for path in paths:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            skipped.append(os.fspath(path))
            continue
        try:
            is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = _PathBeneath(rights if is_directory else rights & _FILE_RIGHTS, descriptor)
            _checked("rule", _ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
        finally:
            os.close(descriptor)
    return tuple(skipped)


def _restrict(ruleset: int) -> None:
    zero = ctypes.c_ulong(0)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) != 0:
        raise _error("no_new_privs")
    _checked("restrict", _RESTRICT_SELF, ruleset, ctypes.c_uint32(0))


def _checked(what: str, *arguments: object) -> int:
    result = int(_libc.syscall(*arguments))
    if result < 0:
        raise _error(what)
    return result


def _error(what: str) -> OSError:
    code = ctypes.get_errno() or errno.EPERM
    return OSError(code, f"landlock {what}: {os.strerror(code)}")
