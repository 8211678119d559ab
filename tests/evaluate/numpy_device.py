from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tui_tuner.evaluate.devices.base import Buffers, Device, Inspection, KernelArgument, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import DeviceInfo, Resources
from tui_tuner.problem.candidate import Geometry

Kernel = Callable[..., float]
"""Works on the arguments in place; returns its time, ms."""


class NumpyDevice(Device):
    """Kernels are Python functions by the name of their symbol; a class makes one for each load."""

    info = DeviceInfo(kind="cuda", name="NumPy", backend="numpy")

    def __init__(self, **kernels: Kernel | type[Kernel]) -> None:
        self.kernels = kernels
        self.loads: list[str] = []
        self.launches = 0
        self.alive = 0

    def load(self, artifact: Path, symbol: str) -> LoadedKernel:
        self.loads.append(symbol)
        kernel = self.kernels[symbol]
        return LoadedKernel(kernel() if isinstance(kernel, type) else kernel, Resources())

    def unload(self, kernel: LoadedKernel) -> None:
        pass

    def allocate(
        self, arguments: Sequence[KernelArgument], restored: frozenset[int], *, guard_end: bool = True
    ) -> Buffers:
        self.alive += 1
        return Buffers(arguments, restored, [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments])

    def _write(self, buffers: Buffers, index: int, values: np.ndarray) -> None:
        buffers.handle[index][...] = values

    def download(self, buffers: Buffers, index: int) -> np.ndarray:
        return np.copy(buffers.handle[index])

    def guard_violation(self, buffers: Buffers) -> DeviceFault | None:
        return None

    def free(self, buffers: Buffers) -> None:
        self.alive -= 1

    def launch(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> None:
        self.time(kernel, buffers, geometry, 1, timeout_s)

    def time(
        self,
        kernel: LoadedKernel,
        buffers: Buffers,
        geometry: Geometry,
        launches: int,
        timeout_s: float,
        inspect: Inspection | None = None,
    ) -> list[float]:
        times = []
        for _ in range(launches):
            times.append(self._once(kernel.handle, buffers))
            if inspect is not None:
                inspect.see(self.digest(buffers))
        return times

    def _once(self, kernel: Kernel, buffers: Buffers) -> float:
        self.launches += 1
        arrays: list[Any] = buffers.handle
        for index in buffers.restored:
            arrays[index][...] = buffers.arguments[index]
        return kernel(*arrays)
