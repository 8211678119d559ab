"""What a process and all that it starts may no longer ask of the kernel, by seccomp; for good, as root too.

Nothing that a candidate or a compiler starts may outlive it. A kernel that runs as native code starts no process at
all; a compiler starts some, which cannot leave the process group that is killed with it.
Standard library only, and as little of it as will do: the launcher loads this file in every build.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # where they stand in what a filter sees
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_CLONE_THREAD = 0x10000

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS = {
    "x86_64": {
        "clone": 56,
        "fork": 57,
        "vfork": 58,
        "clone3": 435,
        "execve": 59,
        "execveat": 322,
        "setpgid": 109,
        "setsid": 112,
        "kill": 62,
        "tgkill": 234,
        "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297,
        "prlimit64": 302,
        "tkill": 200,
        "pidfd_open": 434,
        "ptrace": 101,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
    },
    "aarch64": {
        "clone": 220,
        "clone3": 435,
        "execve": 221,
        "execveat": 281,
        "setpgid": 154,
        "setsid": 157,
        "kill": 129,
        "tgkill": 131,
        "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240,
        "prlimit64": 261,
        "tkill": 130,
        "pidfd_open": 434,
        "ptrace": 117,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
    },
}
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
    calls = _CALLS.get(os.uname().machine, {})
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
    return _install(_refusing(_CALLS.get(os.uname().machine, {}), ["setsid", "setpgid"], errno.EPERM))


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
    libc, zero = ctypes.CDLL(None, use_errno=True), ctypes.c_ulong(0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero)
    return int(libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), whole, zero, zero)) == 0
