"""NVIDIA GPUs through the CUDA driver.

Here: an error of the driver, and its codes in words. Standard library only, as `driver.py` and what runs under a tool.
"""

from __future__ import annotations

from typing import NamedTuple


class CudaError(Exception):
    """A call of the driver that failed.

    Args:
        code: the CUresult.
        call: the function that returned it.
    """

    def __init__(self, code: int, call: str) -> None:
        super().__init__(f"{call}: {describe(code)}")
        self.code = code


class CudaCode(NamedTuple):
    """A CUresult: its name without the prefix CUDA_ERROR_, and the driver's words for it."""

    name: str
    text: str


CODES: dict[int, CudaCode] = {
    1: CudaCode("INVALID_VALUE", "invalid argument"),
    2: CudaCode("OUT_OF_MEMORY", "out of memory"),
    4: CudaCode("DEINITIALIZED", "driver shutting down"),
    46: CudaCode("DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"),
    100: CudaCode("NO_DEVICE", "no CUDA-capable device is detected"),
    200: CudaCode("INVALID_IMAGE", "device kernel image is invalid"),
    201: CudaCode("INVALID_CONTEXT", "invalid device context"),
    209: CudaCode("NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    214: CudaCode("ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"),
    218: CudaCode("INVALID_PTX", "a PTX JIT compilation failed"),
    220: CudaCode("NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected"),
    226: CudaCode("CONTAINED", "contained hardware error"),
    400: CudaCode("INVALID_HANDLE", "invalid resource handle"),
    500: CudaCode("NOT_FOUND", "named symbol not found"),
    700: CudaCode("ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    701: CudaCode("LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    702: CudaCode("LAUNCH_TIMEOUT", "the launch timed out and was terminated"),
    709: CudaCode("CONTEXT_IS_DESTROYED", "context is destroyed"),
    710: CudaCode("ASSERT", "device-side assert triggered"),
    714: CudaCode("HARDWARE_STACK_ERROR", "hardware stack error"),
    715: CudaCode("ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"),
    716: CudaCode("MISALIGNED_ADDRESS", "misaligned address"),
    717: CudaCode("INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space"),
    718: CudaCode("INVALID_PC", "invalid program counter"),
    719: CudaCode("LAUNCH_FAILED", "unspecified launch failure"),
    720: CudaCode("COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    721: CudaCode("TENSOR_MEMORY_LEAK", "tensor memory not completely freed"),
    999: CudaCode("UNKNOWN", "unknown error"),
}


def describe(code: int) -> str:
    """A code in words, with its name for whoever looks it up."""
    known = CODES.get(code)
    return f"CUDA error {code}" if known is None else f"{known.text} (CUDA_ERROR_{known.name})"
