"""The packages that can drive a CUDA device, each imported only when it is chosen, and what the device needs of one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.results import Resources
from tui_tuner.problem.dtypes import is_narrow
from tui_tuner.processes import UNUSED_BY_KERNEL_TUNER, without_packages

BACKENDS = {
    "cuda-python": ("cuda.bindings", "nvcuda", "NvcudaBackend"),
    "pycuda": ("pycuda", "pycuda", "PycudaBackend"),
    "cupy": ("cupy", "cupy", "CupyBackend"),
}
"""Name of the package to the module that shows it is installed, and the file and class beside this one."""


def installed(name: str) -> bool:
    """Whether a package is there, without importing it."""
    try:
        return find_spec(BACKENDS[name][0]) is not None
    except ModuleNotFoundError:  # the parent of a dotted name is missing
        return False


def open_backend(name: str, ordinal: int, driver: Driver) -> CudaBackend:
    """The named backend on a device, or with "auto" the first that works.

    Raises:
        DeviceError: it is not installed or does not work here.
    """
    names = [n for n in BACKENDS if installed(n)] if name == "auto" else [name]
    if not names or names[0] not in BACKENDS or not installed(names[0]):
        wanted = "none of the packages that drive a CUDA device is" if name == "auto" else f"'{name}' is not"
        raise DeviceError(f"{wanted} installed", hint=f"pip install one of: {', '.join(BACKENDS)}")
    errors = []
    for candidate in names:
        try:
            return _open(candidate, ordinal, driver)
        except Exception as error:  # whatever a broken installation raises
            errors.append(f"{candidate}: {type(error).__name__}: {error}")
    raise DeviceError("no CUDA backend works here", hint="; ".join(errors))


def load() -> None:
    """Load the driver and the package that "auto" means, half of what it takes to open a device.

    What cannot be loaded is told when a device is opened.
    """
    with suppress(Exception):  # whatever a broken installation raises
        Driver()
        _module(next(name for name in BACKENDS if installed(name)))


def _open(name: str, ordinal: int, driver: Driver) -> CudaBackend:
    return cast(CudaBackend, getattr(_module(name), BACKENDS[name][2])(ordinal, driver))


def _module(name: str) -> ModuleType:
    with without_packages(set(UNUSED_BY_KERNEL_TUNER) - {name}):
        return import_module(f"{__name__}.{BACKENDS[name][1]}")


SHARED_SIZE_BYTES = 1
LOCAL_SIZE_BYTES = 3
NUM_REGS = 4


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

    def variable(self, loaded: LoadedFunction, symbol: str) -> tuple[int, int] | None:
        """Address and bytes of a variable of the function's module; None where it has none of this name."""
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
    """A scalar in a type that every package can pass: those of fewer bits than float32 as these, bool as a byte."""
    if is_narrow(scalar.dtype):
        bits: np.generic = scalar.view(f"u{scalar.itemsize}")
        return bits
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
