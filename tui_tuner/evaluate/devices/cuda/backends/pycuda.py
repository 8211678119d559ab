"""PyCUDA: kernel_tuner's backend, with loading of cubins."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pycuda.driver as cuda
from kernel_tuner.backends.pycuda import PyCudaFunctions

from tui_tuner.evaluate.devices.cuda.backends import EventPair, LoadedFunction, Opaque
from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.results import Resources
from tui_tuner.problem.by_value import in_one_block


class DeviceAddress:
    """A device address in the shape of PyCUDA's arrays.

    Equal only to itself: newer PyCUDA keeps packed arguments by equality, where the scalars 1 and 1.0 are the same.
    """

    def __init__(self, address: int) -> None:
        self.gpudata = address


class PycudaBackend(PyCudaFunctions):  # type: ignore[misc]  # kernel_tuner is untyped
    """Launches through PyCUDA."""

    errors = (cuda.Error,)

    def __init__(self, ordinal: int, library: Driver) -> None:
        super().__init__(device=ordinal)
        self.version = f"pycuda {version('pycuda')}"
        self.stream_handle = int(self.stream.handle)

    def load(self, image: bytes, symbol: str) -> LoadedFunction:
        """Load a cubin."""
        module = cuda.module_from_buffer(image)
        function = module.get_function(symbol)
        resources = Resources(
            registers=function.num_regs,
            shared_bytes=function.shared_size_bytes,
            local_bytes=function.local_size_bytes,
        )
        return LoadedFunction(module, function, resources)

    def unload(self, loaded: LoadedFunction) -> None:
        """Nothing: the module is unloaded with its last reference."""

    def variable(self, loaded: LoadedFunction, symbol: str) -> tuple[int, int] | None:
        """Address and size of a variable, as PyCUDA finds it."""
        try:
            address, nbytes = loaded.module.get_global(symbol)
        except cuda.LogicError:
            return None
        return int(address), int(nbytes)

    def allow_shared(self, loaded: LoadedFunction, nbytes: int) -> None:
        """Set the function's limit of dynamic shared memory."""
        loaded.function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, nbytes)

    def pointer(self, address: int) -> DeviceAddress:
        """An object that PyCUDA takes for an array on the device."""
        return DeviceAddress(address)

    def run_kernel(
        self,
        func: Opaque,
        gpu_args: list[Opaque],
        threads: tuple[int, int, int],
        grid: tuple[int, int, int],
        stream: Opaque = None,
    ) -> None:
        """Launch as kernel_tuner does; with a structure among them, all arguments as the one block that they make up.

        PyCUDA puts a structure behind what is before it with nothing between, wherever it has to lie.
        """
        if any(isinstance(one, np.void) for one in gpu_args):
            plain = [np.uint64(one.gpudata) if isinstance(one, DeviceAddress) else one for one in gpu_args]
            gpu_args = [in_one_block(plain)]
        super().run_kernel(func, gpu_args, threads, grid, stream)

    def event_pair(self) -> EventPair:
        """Two events with timing."""
        return EventPair(cuda.Event(), cuda.Event())

    def elapsed_ms(self, pair: EventPair) -> float:
        """Time between the two."""
        return float(pair.end.time_since(pair.start))
