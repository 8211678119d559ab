"""cuda-python: kernel_tuner's backend, with loading of cubins and with its return codes heeded."""

from __future__ import annotations

import ctypes
from importlib.metadata import version

import numpy as np
from cuda.bindings import driver
from kernel_tuner.backends.nvcuda import CudaFunctions

from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.backends import EventPair, LoadedFunction, Opaque, function_resources
from tui_tuner.evaluate.devices.cuda.driver import Driver


class NvcudaBackend(CudaFunctions):  # type: ignore[misc]  # kernel_tuner is untyped
    """Launches through cuda-python."""

    errors = (RuntimeError,)

    def __init__(self, ordinal: int, library: Driver) -> None:
        super().__init__(device=ordinal)
        self.version = f"cuda-python {version('cuda-bindings')}"
        self.stream_handle = int(self.stream)
        self._library = library

    def load(self, image: bytes, symbol: str) -> LoadedFunction:
        """Load a cubin."""
        held = np.frombuffer(image, np.uint8)
        module = _value("cuModuleLoadData", driver.cuModuleLoadData(held.ctypes.data))
        try:
            function = _value("cuModuleGetFunction", driver.cuModuleGetFunction(module, symbol.encode()))
        except CudaError:
            driver.cuModuleUnload(module)
            raise
        return LoadedFunction(module, function, function_resources(self._library, int(function)))

    def unload(self, loaded: LoadedFunction) -> None:
        """Unload the module."""
        _value("cuModuleUnload", driver.cuModuleUnload(loaded.module))

    def variable(self, loaded: LoadedFunction, symbol: str) -> tuple[int, int] | None:
        """Address and size of a variable, as the driver finds it."""
        return self._library.variable(int(loaded.module), symbol)

    def allow_shared(self, loaded: LoadedFunction, nbytes: int) -> None:
        """Set the function's limit of dynamic shared memory."""
        self._library.allow_shared(int(loaded.function), nbytes)

    def pointer(self, address: int) -> Opaque:
        """The type that marks device addresses in `run_kernel`."""
        return driver.CUdeviceptr(address)

    def run_kernel(
        self,
        func: Opaque,
        gpu_args: list[Opaque],
        threads: tuple[int, int, int],
        grid: tuple[int, int, int],
        stream: Opaque = None,
    ) -> None:
        """Launch as kernel_tuner does, whose own method (1.5) loses the error of a launch that is refused."""
        values = tuple(_Structure(argument) if isinstance(argument, np.void) else argument for argument in gpu_args)
        types = tuple(
            None if isinstance(value, driver.CUdeviceptr | _Structure) else np.ctypeslib.as_ctypes_type(value.dtype)
            for value in values
        )
        arguments = (values, types)
        where = self.stream if stream is None else stream
        _value("cuLaunchKernel", driver.cuLaunchKernel(func, *grid, *threads, self.smem_size, where, arguments, 0))

    def event_pair(self) -> EventPair:
        """Two events with timing."""
        return EventPair(
            _value("cuEventCreate", driver.cuEventCreate(0)), _value("cuEventCreate", driver.cuEventCreate(0))
        )

    def elapsed_ms(self, pair: EventPair) -> float:
        """Time between the two."""
        return float(_value("cuEventElapsedTime", driver.cuEventElapsedTime(pair.start, pair.end)))


class _Structure:
    """A structure that is passed by value, in the shape of cuda-python's own types."""

    def __init__(self, value: np.void) -> None:
        self._held = ctypes.create_string_buffer(value.tobytes(), value.nbytes)

    def getPtr(self) -> int:  # noqa: N802 - cuda-python's name
        """Where it lies."""
        return ctypes.addressof(self._held)


def _value(call: str, result: tuple[Opaque, ...]) -> Opaque:
    code, *values = result
    if int(code):
        raise CudaError(int(code), call)
    return values[0] if values else None
