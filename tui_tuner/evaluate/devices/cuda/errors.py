"""What an error of the CUDA driver means for a candidate: the kind of failure, and whether the context is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui_tuner.errors import DeviceError, DeviceLost, MachineError
from tui_tuner.evaluate.devices.base import DeviceFault
from tui_tuner.evaluate.results import FailureKind


class CudaError(Exception):
    """A call of the driver that failed.

    Args:
        code: the CUresult.
        call: the function that returned it.
    """

    def __init__(self, code: int, call: str) -> None:
        super().__init__(f"{call}: {describe(code)}")
        self.code = code
        self.call = call


@dataclass(frozen=True)
class CudaCode:
    """A CUresult: its name without the prefix CUDA_ERROR_, the driver's words for it, and what it means here."""

    name: str
    text: str
    kind: FailureKind = FailureKind.LAUNCH
    fatal: bool = False


_OUT_OF_MEMORY = 2
CRASH, ILLEGAL = FailureKind.CRASH, FailureKind.ILLEGAL_ACCESS

CODES: dict[int, CudaCode] = {
    1: CudaCode("INVALID_VALUE", "invalid argument"),
    _OUT_OF_MEMORY: CudaCode("OUT_OF_MEMORY", "out of memory"),
    4: CudaCode("DEINITIALIZED", "driver shutting down", CRASH, fatal=True),
    46: CudaCode("DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable", CRASH, fatal=True),
    100: CudaCode("NO_DEVICE", "no CUDA-capable device is detected", CRASH, fatal=True),
    200: CudaCode("INVALID_IMAGE", "device kernel image is invalid"),
    201: CudaCode("INVALID_CONTEXT", "invalid device context", CRASH, fatal=True),
    209: CudaCode("NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    214: CudaCode("ECC_UNCORRECTABLE", "uncorrectable ECC error encountered", CRASH, fatal=True),
    218: CudaCode("INVALID_PTX", "a PTX JIT compilation failed"),
    220: CudaCode("NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected", CRASH, fatal=True),
    226: CudaCode("CONTAINED", "contained hardware error", CRASH, fatal=True),
    400: CudaCode("INVALID_HANDLE", "invalid resource handle"),
    500: CudaCode("NOT_FOUND", "named symbol not found"),
    700: CudaCode("ILLEGAL_ADDRESS", "an illegal memory access was encountered", ILLEGAL, fatal=True),
    701: CudaCode("LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    702: CudaCode("LAUNCH_TIMEOUT", "the launch timed out and was terminated", FailureKind.TIMEOUT, fatal=True),
    709: CudaCode("CONTEXT_IS_DESTROYED", "context is destroyed", CRASH, fatal=True),
    710: CudaCode("ASSERT", "device-side assert triggered", CRASH, fatal=True),
    714: CudaCode("HARDWARE_STACK_ERROR", "hardware stack error", CRASH, fatal=True),
    715: CudaCode("ILLEGAL_INSTRUCTION", "an illegal instruction was encountered", CRASH, fatal=True),
    716: CudaCode("MISALIGNED_ADDRESS", "misaligned address", ILLEGAL, fatal=True),
    717: CudaCode(
        "INVALID_ADDRESS_SPACE",
        "operation not supported on global/shared address space",
        ILLEGAL,
        fatal=True,
    ),
    718: CudaCode("INVALID_PC", "invalid program counter", CRASH, fatal=True),
    719: CudaCode("LAUNCH_FAILED", "unspecified launch failure", CRASH, fatal=True),
    720: CudaCode("COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    721: CudaCode("TENSOR_MEMORY_LEAK", "tensor memory not completely freed", CRASH, fatal=True),
    999: CudaCode("UNKNOWN", "unknown error", CRASH, fatal=True),
}


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
        users = ", ".join(others) or "`nvidia-smi` shows them"
        return MachineError("the GPU has no memory left", hint=f"end other programs that use it ({users})")
    gone = None if code is None else lost(code)
    return gone or (error if isinstance(error, DeviceError) else DeviceError(f"the GPU cannot be used: {error}"))


def describe(code: int) -> str:
    """A code in words, with its name for whoever looks it up."""
    known = CODES.get(code)
    return f"CUDA error {code}" if known is None else f"{known.text} (CUDA_ERROR_{known.name})"


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
    known = CODES.get(code, CudaCode("", "", CRASH, fatal=True))
    return DeviceFault(known.kind, describe(code), fatal=known.fatal)


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
