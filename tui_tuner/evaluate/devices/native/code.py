"""The forms of native code, C functions and CUDA kernels compiled for the emulator, and a launch of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.native.calls import described
from tui_tuner.evaluate.devices.native.memory import SharedArray, SharedMemory
from tui_tuner.evaluate.devices.native.protocol import Launch, Scalar
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.by_value import as_ctypes
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.placement import Placement

NativeArguments = Sequence[Scalar | SharedArray]
"""A kernel's arguments, arrays in memory that the executor shares."""


@dataclass(frozen=True)
class NativeCode:
    """A form of native code.

    Attributes:
        kind: of the device that runs it.
        compiler: that builds it.
        name: of the device, where `{cpu}` stands for the processor.
        is_emulated: whether it is a grid of blocks with shared memory; a C function has none, but threads of its own.
    """

    kind: str
    compiler: str
    name: str
    is_emulated: bool

    def scalar(self, value: np.generic) -> Scalar:
        """A number or a structure as an executor is told of it.

        Raises:
            DeviceFault: C has no such type.
        """
        return Scalar(value.tobytes().hex(), None if self.is_emulated else described(_ctype_of(value)))


def _ctype_of(value: np.generic) -> type[Any]:
    dtype: Any = value.dtype
    if isinstance(value, np.void):
        return type(as_ctypes(value))
    try:
        found: type[Any] = np.ctypeslib.as_ctypes_type(dtype)
    except NotImplementedError:
        raise DeviceFault(FailureKind.LAUNCH, f"C has no scalar of type {value.dtype}") from None
    return found


@dataclass(frozen=True, eq=False)
class NativeLaunch:
    """One launch.

    Attributes:
        values: the kernel's arguments, arrays in shared memory.
        order: that of blocks and threads on the emulator: 0 for the usual one, others are shuffled.
        alone: the only block to run on the emulator, counted from 1; 0 for all.
        behind: whether it runs as if others had begun and not ended: each atomic update that is its first there was
            made once before.
        placement: where the values go that are no arguments.
    """

    values: NativeArguments
    memory: SharedMemory
    geometry: Geometry
    order: int = 0
    alone: int = 0
    behind: bool = False
    placement: Placement = field(default_factory=Placement)

    def told(self, memories: Sequence[SharedMemory]) -> Launch:
        """As an executor is told that has these memories."""
        arrays, geometry = self.memory.arrays, self.geometry
        values = [arrays.index(value) if isinstance(value, SharedArray) else value for value in self.values]
        numbers = (*geometry.grid, *geometry.block, geometry.shared_bytes)
        held = self.placement.pointers.items()
        pointers = [(index, offset, array) for index, each in held for offset, array in each.items()]
        constants = [*self.placement.constants.items()]
        blocks = self.order, self.alone, self.behind
        return Launch(memories.index(self.memory), values, numbers, *blocks, constants, pointers)


EMULATED = NativeCode(
    kind="emulator",
    compiler="g++",
    name="CPU emulator on {cpu}",
    is_emulated=True,
)
"""CUDA kernels compiled for the emulator."""
C_FUNCTION = NativeCode(kind="c", compiler="gcc", name="{cpu}", is_emulated=False)
"""Functions of C and C++, as a rule with OpenMP."""
