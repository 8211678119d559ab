"""What it means how an executor ended, and whether the times can be true that it claims."""

from __future__ import annotations

import math
import signal
from collections.abc import Sequence

from tui_tuner.errors import SandboxError
from tui_tuner.evaluate.devices.faults import DeviceFault, Stray
from tui_tuner.evaluate.devices.native.code import NativeLaunch
from tui_tuner.evaluate.devices.native.executors import ExecutorExit
from tui_tuner.evaluate.devices.native.memory import SharedArray
from tui_tuner.evaluate.devices.native.protocol import FaultNote, LaunchStatus
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.processes import signal_name

_KINDS = {
    LaunchStatus.DEADLOCK: FailureKind.TIMEOUT,
    LaunchStatus.TRAPPED: FailureKind.CRASH,
    LaunchStatus.OVERRUN: FailureKind.ILLEGAL_ACCESS,
    LaunchStatus.REFUSED: FailureKind.LAUNCH,
    LaunchStatus.RACED: FailureKind.RACE,
    LaunchStatus.UNLOADABLE: FailureKind.LAUNCH,
    LaunchStatus.FAULTY: FailureKind.LAUNCH,
}
_MEMORY = (signal.SIGSEGV, signal.SIGBUS)
_BY_KERNEL = 128
"""si_code of a fault without an address: x86 gives none for misaligned vectors and impossible addresses."""
_NULL_BYTES = 1 << 16

_OVERHEAD_S = 1e-3
_RESTORED_BYTES_PER_S = 0.5e9
_LEAST_SHARE = 0.5
_MANY = 5
"""So many launches that one does not move their median by much."""


def check_end(ended: ExecutorExit, launch: NativeLaunch | None, timeout_s: float) -> None:
    """Nothing, for an executor that did its task; the launch is the one that it was at, None while it loaded.

    Raises:
        DeviceFault: the kernel failed.
        SandboxError: it was not run, since the executor could not be confined.
    """
    if ended.timed_out:
        raise DeviceFault(FailureKind.TIMEOUT, f"did not end within {round(timeout_s, 1):g} s")
    if ended.signal in _MEMORY:
        raise _illegal(ended, launch)
    if ended.signal == signal.SIGILL and ended.report.page.fault.placed:  # where the emulator's code finds one
        place = _place(ended.report.page.fault)
        raise DeviceFault(FailureKind.ILLEGAL_ACCESS, f"touched a misaligned address{place}")
    if ended.signal:
        raise DeviceFault(FailureKind.CRASH, f"died of {signal_name(ended.signal)}{_place(ended.report.page.fault)}")
    status, text = ended.report.page.status, ended.report.text
    if status == LaunchStatus.UNCONFINED:
        raise SandboxError(f"native code cannot be confined here: {text}", hint="a Linux kernel from 5.13 on can")
    if status in _KINDS:
        raise DeviceFault(_KINDS[LaunchStatus(status)], text)
    if status != LaunchStatus.DONE:
        raise DeviceFault(FailureKind.CRASH, "ended its own process")


def checked_times(claimed: Sequence[float], cpu_s: Sequence[float], restored_bytes: int, cores: int) -> list[float]:
    """The times that the executor claims, ms, if they can be true.

    The kernel runs beside the clock and could write any time. So they must explain at least half of the processor
    time that the operating system counted, whatever else the machine was busy with: beyond what restoring the arrays
    and a pause take, and as much on every core. Of many launches, the one that explains least is not asked: a virtual
    machine that stands still for a moment counts it for whoever was running.

    Args:
        cpu_s: what was counted for each of the launches, seconds.
        cores: how many of them a launch can use.

    Raises:
        DeviceFault: they cannot.
    """
    if not all(math.isfinite(ms) and ms > 0 for ms in claimed):
        raise DeviceFault(FailureKind.IMPLAUSIBLE, "a launch that takes no time")
    other_s = _OVERHEAD_S + restored_bytes / _RESTORED_BYTES_PER_S
    asked = sorted(zip(claimed, cpu_s, strict=True), key=lambda launch: launch[1] - launch[0] / 1e3 * cores)
    asked = asked[:-1] if len(asked) >= _MANY else asked
    claimed_ms = sum(ms for ms, _ in asked)
    unexplained_s = sum(cpu for _, cpu in asked) - len(asked) * other_s
    if claimed_ms / 1e3 * cores < _LEAST_SHARE * unexplained_s:
        message = f"{len(asked)} launches claim {claimed_ms:.3g} ms but {unexplained_s * 1e3:.3g} ms went by"
        raise DeviceFault(FailureKind.IMPLAUSIBLE, message)
    return list(claimed)


def _illegal(ended: ExecutorExit, launch: NativeLaunch | None) -> DeviceFault:
    """The fault of a kernel that touched what is no argument's."""
    fault = ended.report.page.fault
    base = ended.bases[launch.memory] if launch else 0
    stray = None if launch is None else _stray(fault, launch, base)
    touched = _target(fault, launch, base) if stray is None else _in_words(stray)
    return DeviceFault(FailureKind.ILLEGAL_ACCESS, f"touched {touched}{_place(fault)}", stray=stray)


def _stray(fault: FaultNote, launch: NativeLaunch, base: int) -> Stray | None:
    """What was touched, where that is beside an argument's array."""
    offset = (fault.address or 0) - base
    for index, array in enumerate(launch.values):
        if isinstance(array, SharedArray) and array.place.holds(offset) and not _has_no_address(fault):
            start, end = array.place.start, array.place.end
            is_before = offset < start
            return Stray(index, start - offset if is_before else offset - end, is_before)
    return None


def _in_words(stray: Stray) -> str:
    side = "before the start" if stray.is_before else "past the end"
    return f"memory {stray.nbytes} bytes {side} of argument {stray.argument + 1}"


def _has_no_address(fault: FaultNote) -> bool:
    return bool(fault.number) and fault.code == _BY_KERNEL


def _target(fault: FaultNote, launch: NativeLaunch | None, base: int) -> str:
    """What was touched, in words, where that is beside no argument's array."""
    if _has_no_address(fault):
        return "an impossible or misaligned address"
    address = fault.address or 0
    for position, array in enumerate(launch.values if launch else (), 1):
        if launch is None or not isinstance(array, SharedArray):
            continue
        listed = launch.memory.lists.get(launch.memory.arrays.index(array))
        if listed is not None and listed.start <= address - base < listed.end:
            return f"the list of addresses of argument {position}, which can only be read"
        if listed is not None and listed.holds(address - base):
            return f"memory beside the list of addresses of argument {position}"
    return "address 0" if fault.number and address < _NULL_BYTES else "memory that belongs to no argument"


def _place(fault: FaultNote) -> str:
    if not fault.placed:
        return ""
    x, y, z, *thread = fault.place
    return f" (block {x},{y},{z}, thread {','.join(map(str, thread))})"
