"""CuPy: kernel_tuner's backend, with loading of cubins."""

from __future__ import annotations

import uuid
from types import SimpleNamespace

import cupy
import kernel_tuner.backends.cupy
import numpy as np
from kernel_tuner.backends.cupy import CupyFunctions

from tui_tuner.evaluate.devices.cuda.backends import EventPair, LoadedFunction, Opaque, function_resources
from tui_tuner.evaluate.devices.cuda.driver import Driver

# CuPy (14.2) ends a device's number at its first zero byte, which one GPU in sixteen has; kernel_tuner wants all 16.
kernel_tuner.backends.cupy.uuid = SimpleNamespace(UUID=lambda **told: uuid.UUID(bytes=told["bytes"].ljust(16, b"\0")))


class CupyBackend(CupyFunctions):  # type: ignore[misc]  # kernel_tuner is untyped
    """Launches through CuPy."""

    errors = (RuntimeError,)

    def __init__(self, ordinal: int, library: Driver) -> None:
        super().__init__(device=ordinal)
        self.version = f"cupy {cupy.__version__}"
        self.stream_handle = int(self.stream.ptr)
        self._library = library

    def load(self, image: bytes, symbol: str) -> LoadedFunction:
        """Load a cubin as a bare module: `RawModule` would hand out the one it loaded before from the same path."""
        module = cupy.cuda.Module()
        module.load(image)
        function = module.get_function(symbol)
        return LoadedFunction(module, function, function_resources(self._library, int(function.ptr)))

    def unload(self, loaded: LoadedFunction) -> None:
        """Nothing: the module is unloaded with its last reference."""

    def variable(self, loaded: LoadedFunction, symbol: str) -> tuple[int, int] | None:
        """Address and size of a variable, as the driver finds it."""
        return self._library.variable(int(loaded.module.ptr), symbol)

    def allow_shared(self, loaded: LoadedFunction, nbytes: int) -> None:
        """Set the function's limit of dynamic shared memory."""
        self._library.allow_shared(int(loaded.function.ptr), nbytes)

    def pointer(self, address: int) -> Opaque:
        """An address is passed by value like any 64-bit scalar."""
        return np.uint64(address)

    def run_kernel(
        self,
        func: Opaque,
        gpu_args: list[Opaque],
        threads: tuple[int, int, int],
        grid: tuple[int, int, int],
        stream: Opaque = None,
    ) -> None:
        """Launch as kernel_tuner does; CuPy takes an array of one element for a structure that is passed by value."""
        arguments = [np.array(one) if isinstance(one, np.void) else one for one in gpu_args]
        super().run_kernel(func, arguments, threads, grid, stream)

    def event_pair(self) -> EventPair:
        """Two events with timing."""
        return EventPair(cupy.cuda.Event(), cupy.cuda.Event())

    def elapsed_ms(self, pair: EventPair) -> float:
        """Time between the two."""
        return float(cupy.cuda.get_elapsed_time(pair.start, pair.end))
