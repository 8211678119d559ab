"""Why the kernel as given cannot be checked: in words, and as what the draft of a problem can be amended for."""

from __future__ import annotations

from enum import StrEnum

from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import Failure, FailureKind, ResultModel
from tui_tuner.problem.model import Problem


class GivenFaultKind(StrEnum):
    """What is wrong with the kernel as given, or with what it is launched with."""

    BEHIND = "touches what is behind an array"
    BEFORE = "touches what is before an array"
    OUTSIDE = "touches memory that is no array's"
    UNWRITTEN = "leaves elements of an output unwritten"
    NOT_FINITE = "leaves no finite number in an output"
    CONSTANT = "leaves in an output what a kernel that computes nothing would"
    RACY = "differs from itself"
    LATE = "does not end in time"
    TOO_LARGE = "asks for more than the device gives"
    OTHER = "is wrong otherwise"

    @property
    def is_outside(self) -> bool:
        """Whether it touches what is no argument's."""
        return self in (GivenFaultKind.BEHIND, GivenFaultKind.BEFORE, GivenFaultKind.OUTSIDE)


class GivenFault(ResultModel):
    """Why the kernel as given cannot be checked.

    Attributes:
        message: the reason in words.
        argument: whose array or output it is about, by name; empty where it is about none.
        nbytes: how far from that array.
    """

    message: str
    kind: GivenFaultKind = GivenFaultKind.OTHER
    argument: str = ""
    nbytes: int = 0


_KINDS = {FailureKind.TIMEOUT: GivenFaultKind.LATE, FailureKind.ILLEGAL_ACCESS: GivenFaultKind.OUTSIDE}


def fault_of_launch(fault: DeviceFault, problem: Problem) -> GivenFault:
    """What a launch that failed says of the kernel as given."""
    message, stray = f"{fault.kind}: {fault.message}", fault.stray
    if stray is None:
        return GivenFault(message=message, kind=_KINDS.get(fault.kind, GivenFaultKind.OTHER))
    kind = GivenFaultKind.BEFORE if stray.is_before else GivenFaultKind.BEHIND
    name = problem.arguments[stray.argument].name
    return GivenFault(message=message, kind=kind, argument=name, nbytes=stray.nbytes)


def fault_of_mismatch(wrong: str) -> GivenFault:
    """What it says of the kernel as given that its results were others the second time."""
    message = f"the kernel as given is not even right against itself: {wrong}"
    return GivenFault(message=message, kind=GivenFaultKind.RACY)


def fault_of_end(failure: Failure, *, killed: bool) -> GivenFault:
    """What it says of the kernel as given that the process ended which launched it.

    Args:
        killed: whether somebody killed that, which the kernel is not to blame for.
    """
    is_crash = failure.kind is FailureKind.CRASH and not killed
    kind = GivenFaultKind.OUTSIDE if is_crash else _KINDS.get(failure.kind, GivenFaultKind.OTHER)
    return GivenFault(message=failure.in_words, kind=kind)
