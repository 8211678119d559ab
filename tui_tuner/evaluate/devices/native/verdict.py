"""From how a child ended to the fault of the kernel that it ran, if any."""

from __future__ import annotations

import math
import signal

from tui_tuner.errors import SandboxError
from tui_tuner.evaluate.devices.base import DeviceFault
from tui_tuner.evaluate.devices.native.launch import NativeArguments
from tui_tuner.evaluate.devices.native.memory import GuardedSharedArray
from tui_tuner.evaluate.devices.native.process import ChildExit
from tui_tuner.evaluate.devices.native.report import FaultNote, LaunchStatus
from tui_tuner.evaluate.results import FailureKind

_KINDS = {
    LaunchStatus.DEADLOCK: FailureKind.TIMEOUT,
    LaunchStatus.TRAPPED: FailureKind.CRASH,
    LaunchStatus.OVERRUN: FailureKind.ILLEGAL_ACCESS,
    LaunchStatus.REFUSED: FailureKind.LAUNCH,
    LaunchStatus.UNLOADABLE: FailureKind.LAUNCH,
    LaunchStatus.FAULTY: FailureKind.LAUNCH,
}
_MEMORY = (signal.SIGSEGV, signal.SIGBUS)
_BY_KERNEL = 128
"""si_code of a fault without an address: x86 gives none for misaligned vectors and impossible addresses."""
_NULL_BYTES = 1 << 16

_STARTUP_S = 0.5
_RESTORED_BYTES_PER_S = 0.5e9
_LEAST_SHARE = 0.5


def check_end(ended: ChildExit, values: NativeArguments, timeout_s: float) -> None:
    """Nothing, for a child that did its task.

    Raises:
        DeviceFault: the kernel failed.
        SandboxError: it was not run, since the child could not be confined.
    """
    if ended.timed_out:
        raise DeviceFault(FailureKind.TIMEOUT, f"did not end within {timeout_s:g} s")
    if ended.signal in _MEMORY:
        raise DeviceFault(FailureKind.ILLEGAL_ACCESS, _where(ended.report.page.fault, values))
    if ended.signal:
        raise DeviceFault(FailureKind.CRASH, f"died of {_name(ended.signal)}{_place(ended.report.page.fault)}")
    status, text = ended.report.page.status, ended.report.text
    if status == LaunchStatus.UNCONFINED:
        raise SandboxError(f"native code cannot be confined here: {text}", hint="a Linux kernel from 5.13 on can")
    if status in _KINDS:
        raise DeviceFault(_KINDS[LaunchStatus(status)], text)
    if status != LaunchStatus.DONE:
        raise DeviceFault(FailureKind.CRASH, "ended its own process")


def checked_times(ended: ChildExit, restored_bytes: int, *, cpu_times: bool) -> list[float]:
    """The times that the child claims, ms, if they can be true.

    The kernel runs beside the clock and could write any time, so what the operating system counted for the
    whole child must be explained by them: at least half of it, beyond starting up and restoring the arrays.

    Raises:
        DeviceFault: they cannot.
    """
    claimed = [ns / 1e6 for ns in ended.report.nanoseconds]
    if not all(math.isfinite(ms) and ms > 0 for ms in claimed):
        raise DeviceFault(FailureKind.IMPLAUSIBLE, "a launch that takes no time")
    counted_s = ended.cpu_s if cpu_times else ended.wall_s
    unexplained_s = counted_s - _STARTUP_S - len(claimed) * restored_bytes / _RESTORED_BYTES_PER_S
    if sum(claimed) / 1e3 < _LEAST_SHARE * unexplained_s:
        message = f"{len(claimed)} launches claim {sum(claimed):.3g} ms but {unexplained_s * 1e3:.3g} ms went by"
        raise DeviceFault(FailureKind.IMPLAUSIBLE, message)
    return claimed


def _where(fault: FaultNote, values: NativeArguments) -> str:
    return f"touched {_target(fault, values)}{_place(fault)}"


def _target(fault: FaultNote, values: NativeArguments) -> str:
    address = fault.address or 0
    if fault.number and fault.code == _BY_KERNEL:
        return "an impossible or misaligned address"
    for position, array in enumerate(values, 1):
        if isinstance(array, GuardedSharedArray) and array.holds(address):
            if address < array.start:
                return f"memory {array.start - address} bytes before the start of argument {position}"
            return f"memory {address - array.end} bytes past the end of argument {position}"
    return "address 0" if fault.number and address < _NULL_BYTES else "memory that belongs to no argument"


def _place(fault: FaultNote) -> str:
    if not fault.placed:
        return ""
    x, y, z, *thread = fault.place
    return f" (block {x},{y},{z}, thread {','.join(map(str, thread))})"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
