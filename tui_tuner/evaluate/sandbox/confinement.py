"""What a process gives up for good: files and TCP by Landlock, network and processes by namespaces, calls by seccomp.

Nothing that a candidate or a compiler starts may outlive it. A kernel that runs as native code starts no process at
all; a compiler starts some, which cannot leave the process group that is killed with it. What seccomp forbids holds
for root too. Standard library only, and as little of it as will do: the launcher, which loads this, is forked for
every build.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def leave_network(*, and_processes: bool = False) -> bool:
    """Move the calling single-threaded process into a network with no way out; call it before Landlock.

    Args:
        and_processes: whether the kernel is also to end all that this process forks when the first it forks ends.

    Returns:
        Whether all of that was done, else nothing was; some systems forbid user namespaces to ordinary users.
    """
    user, group = os.geteuid(), os.getegid()
    namespaces = _CLONE_NEWNET | (_CLONE_NEWPID if and_processes else 0)
    if _libc.unshare(ctypes.c_int(_CLONE_NEWUSER | namespaces)) != 0:  # which gives the right to the others
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
    """

    abi: int
    tcp_refused: bool


def abi_version() -> int:
    """The version of Landlock that this kernel enforces, 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_QUERY_VERSION))))


def confine(*, read: Sequence[Path | str], write: Sequence[Path | str] = ()) -> Confinement:
    """Confine the calling thread and all that it starts; call it in a child, after fork and before exec.

    Every path not named is out of reach. Nothing undoes it.

    Args:
        read: directories and files that may be read and executed.
        write: directories and files that may be read and written, device nodes included; not executed.

    Raises:
        OSError: the kernel knows Landlock and refused the rules.
    """
    abi = abi_version()
    if abi == 0:
        return Confinement(0, False)
    rights = (1 << _KNOWN_RIGHTS.get(abi, 16)) - 1
    refuse_tcp = abi >= 4
    attributes = _RulesetAttributes(
        rights, _TCP_BIND_CONNECT if refuse_tcp else 0, _SCOPE_ABSTRACT_UNIX_SIGNAL if abi >= 6 else 0
    )
    ruleset = _checked("create", _CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(24), ctypes.c_uint32(0))
    try:
        _allow(ruleset, read, _READ & rights)
        _allow(ruleset, write, _WRITE & rights)
        _restrict(ruleset)
    finally:
        os.close(ruleset)
    return Confinement(abi, refuse_tcp)


def _allow(ruleset: int, paths: Iterable[Path | str], rights: int) -> None:
    """Add one rule a path; one that cannot be opened needs none."""
    for path in paths:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = _PathBeneath(rights if is_directory else rights & _FILE_RIGHTS, descriptor)
            _checked("rule", _ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
        finally:
            os.close(descriptor)


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


_PR_SET_SECCOMP, _FILTER = 22, 2
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # where they stand in what a filter sees
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_CLONE_THREAD = 0x10000

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS = {
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "clone3": (435, 435),
    "execve": (59, 221),
    "execveat": (322, 281),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "prlimit64": (302, 261),
    "tkill": (200, 130),
    "pidfd_open": (434, 434),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
}
"""Numbers of calls on each of the machines in their order, None where one has no such call."""
_ON_ITSELF = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64")
"""Calls whose first argument is a process: its own, or 0 for itself or its group, which it is alone in."""
_ON_OTHERS = ("tkill", "pidfd_open", "ptrace", "process_vm_readv", "process_vm_writev")

_Instruction = tuple[int, int, int, int]
"""Code, instructions to skip where it holds and where not, and its number."""


def refuse_processes(*, threads: bool) -> bool:
    """Let this process start no other, become no other, and signal, stop, read or limit none but itself.

    Landlock keeps it from other processes too, but from their signals since ABI 6 only.

    Args:
        threads: whether threads may be started.

    Returns:
        Whether it is so from now on; some kernels and machines have no filters.
    """
    calls = _calls_here()
    program: list[_Instruction] = []
    if threads and "clone" in calls:
        # Flags of clone3 stand in memory, where a filter cannot look: the C library then falls back on clone.
        program += [(_EQUAL, 0, 4, calls["clone"]), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_ANY_BIT, 0, 1, _CLONE_THREAD)]
        program += [_returns(_ALLOW), _fails(errno.EPERM)]
    program += _refusing(calls, ["clone3"], errno.ENOSYS)
    program += _on_itself_alone(calls, os.getpid()) + _refusing(calls, _ON_OTHERS, errno.EPERM)
    return _install(program + _refusing(calls, ["clone", "fork", "vfork", "execve", "execveat"], errno.EPERM))


def stay_in_group() -> bool:
    """Let this process and all that it starts never leave its process group; whether it is so from now on."""
    return _install(_refusing(_calls_here(), ["setsid", "setpgid"], errno.EPERM))


def _calls_here() -> dict[str, int]:
    """The numbers of calls on this machine; none where it is another."""
    if (machine := os.uname().machine) not in _MACHINES:
        return {}
    column = [*_MACHINES].index(machine)
    return {name: number for name, numbers in _CALLS.items() if (number := numbers[column]) is not None}


def _returns(what: int) -> _Instruction:
    return (_RETURN, 0, 0, what)


def _fails(error: int) -> _Instruction:
    return _returns(_ERROR | error)


def _refusing(calls: dict[str, int], names: Iterable[str], error: int) -> list[_Instruction]:
    return [step for name in names if name in calls for step in ((_EQUAL, 0, 1, calls[name]), _fails(error))]


def _on_itself_alone(calls: dict[str, int], process: int) -> list[_Instruction]:
    program: list[_Instruction] = []
    for name in _ON_ITSELF:
        if name in calls:
            program += [(_EQUAL, 0, 5, calls[name]), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_EQUAL, 1, 0, process)]
            program += [(_EQUAL, 0, 1, 0), _returns(_ALLOW), _fails(errno.EPERM)]
    return program


def _install(refusals: list[_Instruction]) -> bool:
    machine = _MACHINES.get(os.uname().machine)
    if machine is None or sys.maxsize < 2**32 or not sys.platform.startswith("linux"):
        return False
    program = [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine), _fails(errno.EPERM)),  # 32-bit calls of this machine
        *((_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), _fails(errno.EPERM)),
        *refusals,
        _returns(_ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    zero = ctypes.c_ulong(0)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero)
    return int(_libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), whole, zero, zero)) == 0
