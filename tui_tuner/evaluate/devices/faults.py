"""A launch that failed, and what it touched beside its arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tui_tuner.errors import DeviceLost, MachineError
from tui_tuner.evaluate.results import FailureKind


class Stray(NamedTuple):
    """A place beside an array, which a kernel touched.

    Attributes:
        argument: the index of the array.
        nbytes: how far from the array: behind its end, or before its start.
        is_before: its start, rather than behind its end.
    """

    argument: int
    nbytes: int
    is_before: bool


class DeviceFault(Exception):
    """A launch that failed.

    Args:
        kind: the class of the failure.
        message: the reason in one line.
        fatal: whether the device's context is lost and the runner must be replaced.
        stray: what it touched beside an array, where that is known.
    """

    def __init__(self, kind: FailureKind, message: str, *, fatal: bool = False, stray: Stray | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.fatal = fatal
        self.stray = stray
        self._is_placed = False

    def at(self, label: str) -> DeviceFault:
        """The same with the launch named at which it came about, where none is named yet."""
        if self._is_placed:
            return self
        placed = DeviceFault(self.kind, f"at {label}: {self.message}", fatal=self.fatal, stray=self.stray)
        placed._is_placed = True
        return placed


def illegal(message: str, stray: Stray | None = None) -> DeviceFault:
    """The fault of a kernel that wrote what it may not."""
    return DeviceFault(FailureKind.ILLEGAL_ACCESS, message, stray=stray)


@contextmanager
def named_at(label: str) -> Iterator[None]:
    """Name the launch at which a fault comes about."""
    try:
        yield
    except DeviceFault as fault:
        raise fault.at(label) from None


@contextmanager
def of_another(whose: str) -> Iterator[None]:
    """What a kernel does beside which a candidate is judged: its faults are not the candidate's.

    Args:
        whose: the kernel, in words.

    Raises:
        MachineError: it failed; `DeviceLost` where that lost the device.
    """
    try:
        yield
    except DeviceFault as fault:
        error = DeviceLost if fault.fatal else MachineError
        raise error(f"{whose} was right before, and failed now: {fault.kind}: {fault.message}") from fault
