"""How a loaded kernel is called: the emulator's one launch function, or the C function itself."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tui_tuner.evaluate.devices.base import DeviceFault, KernelArgument
from tui_tuner.evaluate.devices.native.memory import GuardedArray
from tui_tuner.evaluate.devices.native.report import MESSAGE_BYTES, Report
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.geometry import Geometry

NativeKind = Literal["emulator", "c"]
Launch = Callable[[], int]
"""Launches once and returns a `Status`."""


def scalar(value: np.generic) -> object:
    """A NumPy scalar as an object of ctypes.

    Raises:
        DeviceFault: C has no such type.
    """
    dtype: Any = value.dtype
    try:
        converted: object = np.ctypeslib.as_ctypes_type(dtype)(value.item())
    except NotImplementedError:
        raise DeviceFault(FailureKind.LAUNCH, f"C has no scalar of type {value.dtype}") from None
    return converted


def launch_function(
    kind: NativeKind, library: ctypes.CDLL, symbol: str, values: Sequence[KernelArgument | GuardedArray]
) -> Callable[[Geometry, Report], Launch]:
    """The call of a kernel with these arguments, still to be given geometry and report.

    Raises:
        AttributeError, ValueError: the library has no such symbol.
    """
    if kind == "emulator":
        return _emulated(library, symbol, values)
    return _called(library, symbol, values)


def _emulated(
    library: ctypes.CDLL, symbol: str, values: Sequence[KernelArgument | GuardedArray]
) -> Callable[[Geometry, Report], Launch]:
    function = library[symbol]
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    slots = [_slot(value) for value in values]
    addresses = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))

    def bind(geometry: Geometry, report: Report) -> Launch:
        numbers = (ctypes.c_uint * 7)(*geometry.grid, *geometry.block, geometry.shared_bytes)
        message = ctypes.addressof(report) + Report.message.offset  # type: ignore[attr-defined]

        def launch() -> int:
            _ = slots  # the addresses are theirs
            return int(function(numbers, addresses, message, MESSAGE_BYTES))

        return launch

    return bind


def _slot(value: KernelArgument | GuardedArray) -> ctypes.Array[ctypes.c_char]:
    """The bytes of an argument, with room for any scalar type."""
    if isinstance(value, GuardedArray):
        return ctypes.create_string_buffer(value.start.to_bytes(8, "little"), 16)
    return ctypes.create_string_buffer(value.tobytes(), 16)


def _called(
    library: ctypes.CDLL, symbol: str, values: Sequence[KernelArgument | GuardedArray]
) -> Callable[[Geometry, Report], Launch]:
    address = ctypes.c_void_p.in_dll(library, symbol).value
    arguments = [ctypes.c_void_p(v.start) if isinstance(v, GuardedArray) else scalar(v) for v in values]  # type: ignore[arg-type]
    function = ctypes.CFUNCTYPE(None, *map(type, arguments))(address)  # type: ignore[arg-type]

    def launch() -> int:
        function(*arguments)
        return 0

    return lambda _geometry, _report: launch
