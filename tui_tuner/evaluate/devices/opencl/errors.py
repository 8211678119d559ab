"""What an OpenCL status means for a candidate."""

from __future__ import annotations

from tui_tuner.evaluate.devices.base import DeviceFault
from tui_tuner.evaluate.results import FailureKind

STATUS: dict[int, str] = {
    -4: "MEM_OBJECT_ALLOCATION_FAILURE",
    -5: "OUT_OF_RESOURCES",
    -6: "OUT_OF_HOST_MEMORY",
    -11: "BUILD_PROGRAM_FAILURE",
    -14: "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    -36: "INVALID_COMMAND_QUEUE",
    -42: "INVALID_BINARY",
    -44: "INVALID_PROGRAM",
    -45: "INVALID_PROGRAM_EXECUTABLE",
    -46: "INVALID_KERNEL_NAME",
    -48: "INVALID_KERNEL",
    -49: "INVALID_ARG_INDEX",
    -50: "INVALID_ARG_VALUE",
    -51: "INVALID_ARG_SIZE",
    -52: "INVALID_KERNEL_ARGS",
    -53: "INVALID_WORK_DIMENSION",
    -54: "INVALID_WORK_GROUP_SIZE",
    -55: "INVALID_WORK_ITEM_SIZE",
    -56: "INVALID_GLOBAL_OFFSET",
    -61: "INVALID_BUFFER_SIZE",
    -63: "INVALID_GLOBAL_WORK_SIZE",
}
LOST = frozenset({-14, -36})
"""After these the queue is of no more use, whichever call returned them."""


def fault(code: int, *, waiting: bool) -> DeviceFault:
    """The fault that a status stands for.

    Args:
        waiting: whether it came while the kernel ran; drivers report an illegal access
            then, with whatever status, and the context does not recover.
    """
    name = STATUS.get(code, f"status {code}")
    if waiting or code in LOST:
        return DeviceFault(FailureKind.CRASH, f"the kernel failed while it ran (CL {name})", fatal=True)
    return DeviceFault(FailureKind.LAUNCH, f"CL {name}")
