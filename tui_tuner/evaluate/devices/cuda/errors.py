"""What an error of the CUDA driver means for a candidate: the kind of failure, and whether the context is lost."""

from __future__ import annotations

from collections.abc import Sequence

from tui_tuner.errors import DeviceError, DeviceLost, MachineError
from tui_tuner.evaluate.devices.cuda import CODES, CudaError, describe
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.format import first_of

_OUT_OF_MEMORY = 2
FATAL: dict[int, FailureKind] = {
    **dict.fromkeys((4, 46, 100, 201, 214, 220, 226, 709, 710, 714, 715, 718, 719, 721, 999), FailureKind.CRASH),
    **dict.fromkeys((700, 716, 717), FailureKind.ILLEGAL_ACCESS),
    702: FailureKind.TIMEOUT,
}
"""Codes that stay with the context, and what they mean of a kernel; of the others of `CODES` a launch is refused."""


_RESUME = "nothing that was measured is lost"
_LOOK = f"look at `nvidia-smi` and at the system's log (dmesg | grep Xid); {_RESUME}"
LOST: dict[int, tuple[str, str]] = {
    46: (
        "another process holds the GPU for itself",
        "end it (`nvidia-smi` shows it), or let several in (`nvidia-smi -c DEFAULT`)",
    ),
    100: ("the GPU is no longer there", _LOOK),
    214: (
        "the GPU's memory failed (an uncorrectable ECC error)",
        f"see `nvidia-smi -q -d ECC`; where it happens again, reset the GPU or choose another; {_RESUME}",
    ),
    220: ("the link between GPUs failed (an uncorrectable NVLink error)", _LOOK),
    226: ("the GPU's hardware failed (a contained error)", _LOOK),
}
"""Codes that no kernel brings about: what happened in words, and the way on."""
FELL_OFF = "the GPU has fallen off the bus"


def lost(code: int) -> DeviceLost | None:
    """The fault of the device that a code stands for; None where it may be a kernel's."""
    if code not in LOST:
        return None
    message, hint = LOST[code]
    return DeviceLost(f"{message}: {describe(code)}", hint=hint)


def fell_off() -> DeviceLost:
    """The fault of a GPU that nothing reaches any more."""
    return DeviceLost(FELL_OFF, hint=f"restart the machine or reset the GPU; {_LOOK}")


def not_taken(error: CudaError | DeviceError, others: Sequence[str]) -> DeviceError | MachineError:
    """Why a device cannot be taken: another process, the device itself, or what the error says.

    Args:
        others: processes that use it, in words.
    """
    code = error.code if isinstance(error, CudaError) else code_in(error.hint or "")
    if code == _OUT_OF_MEMORY:
        users = first_of(others) or "`nvidia-smi` shows them"
        return MachineError("the GPU has no memory left", hint=f"end other programs that use it ({users})")
    gone = None if code is None else lost(code)
    return gone or (error if isinstance(error, DeviceError) else DeviceError(f"the GPU cannot be used: {error}"))


def code_in(message: str) -> int | None:
    """The code that the message of a package is about: by its name, else by the driver's words.

    PyCUDA's exceptions and kernel_tuner's carry no number.
    """
    by_name = [(known.name, code) for code, known in CODES.items() if f"CUDA_ERROR_{known.name}" in message]
    by_text = [(known.text, code) for code, known in CODES.items() if known.text in message]
    found = by_name or by_text
    return max(found, key=lambda pair: len(pair[0]))[1] if found else None


def fault(code: int) -> DeviceFault:
    """The fault that a code stands for; a code nobody knows leaves no trust in the context."""
    kind = FATAL.get(code, FailureKind.LAUNCH if code in CODES else FailureKind.CRASH)
    return DeviceFault(kind, describe(code), fatal=code in FATAL or code not in CODES)


def fault_of(error: Exception, sticky: int) -> DeviceFault | DeviceLost:
    """The fault behind an exception of a backend.

    Args:
        sticky: what waiting for the device returned after the exception: 0 while the context is usable.
    """
    code = sticky or _code_of(error)
    if code is not None and (sticky or code in CODES):
        return lost(code) or fault(code)
    message = f"{type(error).__name__}: {error}".splitlines()[0]
    return DeviceFault(FailureKind.LAUNCH, message)


def _code_of(error: Exception) -> int | None:
    for attribute in ("code", "status"):  # ours, and CuPy's
        code = getattr(error, attribute, None)
        if isinstance(code, int):
            return code
    return code_in(str(error))
