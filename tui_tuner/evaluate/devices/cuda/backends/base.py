"""What the CUDA device needs of a package that launches kernels, beyond kernel_tuner's own backend class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.results import Resources

SHARED_SIZE_BYTES = 1
LOCAL_SIZE_BYTES = 3
NUM_REGS = 4
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


Opaque = Any
"""Something that only its package understands."""


@dataclass(frozen=True)
class LoadedFunction:
    """A kernel function and the module that must live as long as it."""

    module: Opaque
    function: Opaque
    resources: Resources


@dataclass(frozen=True)
class EventPair:
    """Two events of the package around one launch."""

    start: Opaque
    end: Opaque


class CudaBackend(Protocol):
    """A subclass of one of kernel_tuner's CUDA backends, its context current in this thread.

    Attributes:
        version: package and version, "cuda-python 13.0.3".
        stream_handle: the CUstream that it launches on.
        start: the event that `start_event` records.
        end: the event that `stop_event` records.
        smem_size: dynamic shared memory of the next launches, bytes.
        errors: what its methods raise, besides CudaError.
    """

    version: str
    stream_handle: int
    start: Opaque
    end: Opaque
    smem_size: int
    errors: tuple[type[Exception], ...]

    def load(self, image: bytes, symbol: str) -> LoadedFunction:
        """Load a cubin, always afresh."""
        ...

    def unload(self, loaded: LoadedFunction) -> None:
        """Unload its module where the package does not when the last reference goes."""
        ...

    def allow_shared(self, loaded: LoadedFunction, nbytes: int) -> None:
        """Let a function ask for so much dynamic shared memory, bytes."""
        ...

    def pointer(self, address: int) -> Opaque:
        """A device address as `run_kernel` takes it."""
        ...

    def event_pair(self) -> EventPair:
        """Two fresh events."""
        ...

    def elapsed_ms(self, pair: EventPair) -> float:
        """Time between two recorded events that are over."""
        ...

    def start_event(self) -> None:
        """Record `start`."""
        ...

    def stop_event(self) -> None:
        """Record `end`."""
        ...

    def run_kernel(
        self, func: Opaque, gpu_args: list[Opaque], threads: tuple[int, int, int], grid: tuple[int, int, int]
    ) -> None:
        """Launch without waiting."""
        ...


def by_value(scalar: np.generic) -> np.generic:
    """A scalar in a type that every package can pass: float16 as its bits, bool as a byte."""
    if isinstance(scalar, np.float16):
        return scalar.view(np.uint16)
    if isinstance(scalar, np.bool_):
        return np.uint8(scalar)
    return scalar


def function_resources(driver: Driver, function: int) -> Resources:
    """What a loaded function (a CUfunction) needs, as the driver says."""
    return Resources(
        registers=driver.function_attribute(function, NUM_REGS),
        shared_bytes=driver.function_attribute(function, SHARED_SIZE_BYTES),
        local_bytes=driver.function_attribute(function, LOCAL_SIZE_BYTES),
    )


def allow_function_shared(driver: Driver, function: int, nbytes: int) -> None:
    """Let a loaded function (a CUfunction) ask for so much dynamic shared memory, bytes."""
    driver.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_SIZE_BYTES, nbytes)
