"""A CUDA driver and backend in host memory: addresses are real, kernels are Python functions."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.backends import EventPair, LoadedFunction
from tui_tuner.evaluate.devices.cuda.driver import SIGNATURES, Driver
from tui_tuner.evaluate.results import Resources

GRANULARITY = 4096
ATTRIBUTES = {1: 1024, 8: 49152, 10: 32, 13: 1_500_000, 16: 4, 38: 2**20, 75: 9, 76: 0, 97: 232448, 102: 1}


class FakeDriver(Driver):
    """Knows the calls that the project makes; `calls` names them in order."""

    def __init__(self, *, virtual_memory: bool = True) -> None:
        self.calls: list[str] = []
        self._queued: list[Callable[[], object]] = []
        self.blocks: dict[int, np.ndarray] = {}
        self.sticky = 0
        self.fails: dict[str, int] = {}
        self.virtual_memory = virtual_memory
        self._mapped: set[int] = set()
        self.uuids = ["gpu-a", "gpu-b"]

    def call(self, name: str, *arguments: Any) -> None:
        assert len(arguments) == len(SIGNATURES[name])
        self.calls.append(name)
        code = self.fails.get(name, 0)
        if code:
            raise CudaError(code, name)
        getattr(self, f"_{_snake(name)}", lambda *_: None)(*arguments)

    def device_count(self) -> int:
        return len(self.uuids)

    def device(self, ordinal: int) -> int:
        return ordinal

    def uuid(self, device: int) -> str:
        return self.uuids[device]

    def device_name(self, device: int) -> str:
        return "Fake"

    def pci_bus_id(self, device: int) -> str:
        return "0000:00:00.0"

    def attribute(self, device: int, number: int) -> int:
        return 0 if number == 102 and not self.virtual_memory else ATTRIBUTES.get(number, 0)

    def total_memory(self, device: int) -> int:
        return 2**30

    def synchronize(self) -> None:
        self.calls.append("cuCtxSynchronize")
        if self.sticky:
            raise CudaError(self.sticky, "cuCtxSynchronize")
        for copy in self._queued:
            copy()
        self._queued.clear()

    def upload(self, address: int, array: np.ndarray) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, array: np.ndarray, address: int) -> None:
        if self.sticky:
            raise CudaError(self.sticky, "cuMemcpyDtoH_v2")
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def upload_async(self, address: int, pinned: np.ndarray) -> None:
        """As late as it may be: what lies there then is copied."""
        self._queued.append(lambda: ctypes.memmove(address, pinned.ctypes.data, pinned.nbytes))

    def download_async(self, pinned: np.ndarray, address: int) -> None:
        self._queued.append(lambda: ctypes.memmove(pinned.ctypes.data, address, pinned.nbytes))

    def _block(self, nbytes: int) -> int:
        block = np.zeros(nbytes + GRANULARITY, np.uint8)
        address = -(-block.ctypes.data // GRANULARITY) * GRANULARITY
        self.blocks[address] = block
        return address

    def _cu_mem_alloc_v2(self, pointer: Any, nbytes: int) -> None:
        pointer._obj.value = self._block(nbytes)

    def _cu_mem_free_v2(self, address: int) -> None:
        del self.blocks[address]

    def _cu_mem_get_allocation_granularity(self, pointer: Any, *_: Any) -> None:
        pointer._obj.value = GRANULARITY

    def _cu_mem_address_reserve(self, pointer: Any, size: int, *_: Any) -> None:
        pointer._obj.value = self._block(size)

    def _cu_mem_address_free(self, address: int, size: int) -> None:
        del self.blocks[address]

    def _cu_mem_map(self, address: int, *_: Any) -> None:
        self._mapped.add(address)

    def _cu_mem_unmap(self, address: int, size: int) -> None:
        self._mapped.remove(address)

    def _cu_memset_d8_v2(self, address: int, value: int, count: int) -> None:
        self._fill(address, np.full(count, value, np.uint8))

    def _cu_memset_d16_v2(self, address: int, value: int, count: int) -> None:
        self._fill(address, np.full(count, value, np.uint16))

    def _cu_memset_d32_v2(self, address: int, value: int, count: int) -> None:
        self._fill(address, np.full(count, value, np.uint32))

    def _fill(self, address: int, values: np.ndarray) -> None:
        ctypes.memmove(address, values.ctypes.data, values.nbytes)

    def _cu_memcpy_dto_dasync_v2(self, target: int, source: int, nbytes: int, stream: int) -> None:
        ctypes.memmove(target, source, nbytes)


@dataclass
class FakeBackend:
    """Launches Python functions of the arguments; an argument that is an address is an int."""

    driver: FakeDriver
    version: str = "fake 1"
    stream_handle: int = 7
    start: Any = None
    end: Any = None
    smem_size: int = 0
    errors: tuple[type[Exception], ...] = (RuntimeError,)
    kernels: dict[str, Callable[..., None]] = field(default_factory=dict)
    launched: list[tuple[Any, ...]] = field(default_factory=list)
    allowed: list[int] = field(default_factory=list)
    unloaded: int = 0
    variables: dict[str, tuple[int, int]] = field(default_factory=dict)

    def load(self, image: bytes, symbol: str) -> LoadedFunction:
        return LoadedFunction(image, self.kernels[symbol], Resources(registers=32, shared_bytes=0, local_bytes=0))

    def unload(self, loaded: LoadedFunction) -> None:
        self.unloaded += 1

    def variable(self, loaded: LoadedFunction, symbol: str) -> tuple[int, int] | None:
        return self.variables.get(symbol)

    def allow_shared(self, loaded: LoadedFunction, nbytes: int) -> None:
        self.allowed.append(nbytes)

    def pointer(self, address: int) -> int:
        return address

    def event_pair(self) -> EventPair:
        return EventPair(object(), object())

    def elapsed_ms(self, pair: EventPair) -> float:
        return 0.25

    def start_event(self) -> None:
        self.driver.calls.append("start")

    def stop_event(self) -> None:
        self.driver.calls.append("stop")

    def run_kernel(
        self, func: Any, gpu_args: list[Any], threads: tuple[int, int, int], grid: tuple[int, int, int]
    ) -> None:
        self.driver.calls.append("launch")
        self.launched.append((threads, grid, self.smem_size))
        func(*gpu_args)


def _snake(name: str) -> str:
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def floats(address: int, count: int) -> np.ndarray:
    """The floats at an address, writable."""
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def cubin(directory: Path) -> Path:
    """A file for `load`."""
    path = directory / "kernel.cubin"
    path.write_bytes(b"image")
    return path
