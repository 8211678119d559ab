"""The forms of native code: C functions, and CUDA kernels compiled for the emulator; how each is called."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tui_tuner.evaluate.devices.base import DeviceFault, KernelArgument, constant_fault
from tui_tuner.evaluate.devices.native.memory import MESSAGE_BYTES, GuardedSharedArray, LaunchReport, WatchedArray
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.by_value import as_ctypes
from tui_tuner.problem.candidate import Geometry

NativeArguments = Sequence[KernelArgument | GuardedSharedArray]
"""A kernel's arguments, arrays in memory that the child shares."""


@dataclass(frozen=True)
class NativeLaunch:
    """One launch.

    Attributes:
        values: the kernel's arguments, arrays in shared memory.
        restored: shared array and the address of its pristine copy.
        order: that of blocks and threads on the emulator: 0 for the usual one, others are shuffled.
        alone: the only block to run on the emulator, counted from 1; 0 for all.
        constants: values that are no arguments, and the variable that each fills.
    """

    values: NativeArguments
    restored: Sequence[tuple[GuardedSharedArray, int]]
    geometry: Geometry
    order: int = 0
    alone: int = 0
    constants: Mapping[int, str] = field(default_factory=dict)


NativeCall = Callable[[], int]
"""Launches once and returns a `LaunchStatus`."""
Bind = Callable[[NativeLaunch, LaunchReport], NativeCall]
"""Makes the call of a launch, which reports there."""


@dataclass(frozen=True)
class NativeCode:
    """A form of native code.

    Attributes:
        kind: of the device that runs it.
        compiler: that builds it.
        name: of the device, where `{cpu}` stands for the processor.
        bind: makes the calls of a loaded kernel from its library and its symbol.
        check_scalar: raises `DeviceFault` for a scalar that cannot be passed.
        has_blocks: whether it is a grid of blocks with shared memory.
        has_threads: whether it starts threads of its own. One without is timed by its processor time, which is less
            noisy, the others by wall time.
    """

    kind: str
    compiler: str
    name: str
    bind: Callable[[ctypes.CDLL, str], Bind]
    check_scalar: Callable[[np.generic], object]
    has_blocks: bool
    has_threads: bool

    @property
    def clock(self) -> Callable[[], int]:
        """Reads the time, ns."""
        return time.perf_counter_ns if self.has_threads else time.thread_time_ns


def scalar(value: np.generic) -> object:
    """A NumPy scalar or structure as an object of ctypes.

    Raises:
        DeviceFault: C has no such type.
    """
    dtype: Any = value.dtype
    if isinstance(value, np.void):
        return as_ctypes(value)
    try:
        converted: object = np.ctypeslib.as_ctypes_type(dtype)(value.item())
    except NotImplementedError:
        raise DeviceFault(FailureKind.LAUNCH, f"C has no scalar of type {value.dtype}") from None
    return converted


def _emulated(library: ctypes.CDLL, symbol: str) -> Bind:
    function = library[symbol]
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    tell_arrays = getattr(library, "tuner_arrays", None)  # there where a build watches what the kernel does

    def bind(launch: NativeLaunch, report: LaunchReport) -> NativeCall:
        slots = [_slot(value) for index, value in enumerate(launch.values) if index not in launch.constants]
        addresses = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))
        geometry = launch.geometry
        numbers = (ctypes.c_uint * 9)(
            *(*geometry.grid, *geometry.block, geometry.shared_bytes, launch.order, launch.alone)
        )
        message = ctypes.addressof(report) + LaunchReport.message.offset  # type: ignore[attr-defined]

        arrays = [WatchedArray.of(v) if isinstance(v, GuardedSharedArray) else WatchedArray() for v in launch.values]
        watched = (WatchedArray * len(arrays))(*arrays)

        def call() -> int:
            _ = slots  # the addresses are theirs
            if tell_arrays is not None:
                tell_arrays(watched, len(watched))
            status = int(function(numbers, addresses, message, MESSAGE_BYTES))
            if launch.alone:
                library.tuner_atomics(ctypes.byref(report.atomics))
            return status

        return call

    return bind


def constants_in(library: ctypes.CDLL, launch: NativeLaunch) -> Iterator[tuple[int, bytes | int, int]]:
    """The address of each variable that a launch fills, what comes there, and the bytes of that.

    Raises:
        AttributeError: the library has no variable of this name that holds as much.
    """
    for index, name in launch.constants.items():
        value = launch.values[index]
        content, nbytes = (
            (value.start, value.end - value.start)
            if isinstance(value, GuardedSharedArray)
            else (value.tobytes(), value.nbytes)
        )
        variable = getattr(library, name, None)
        address = 0 if variable is None else int(ctypes.cast(variable, ctypes.c_void_p).value or 0)
        if fault := constant_fault(name, _bytes_at(address) if address else None, nbytes):
            raise AttributeError(fault.message)
        yield address, content, nbytes


def _bytes_at(address: int) -> int:
    """The bytes of the variable at an address, as the dynamic linker knows it."""
    found, symbol = (ctypes.c_void_p * 4)(), ctypes.POINTER(_ElfSymbol)()
    told = ctypes.CDLL(None).dladdr1(ctypes.c_void_p(address), found, ctypes.byref(symbol), _RTLD_DL_SYMENT)
    return int(symbol.contents.size) if told and symbol else 0


_RTLD_DL_SYMENT = 1


class _ElfSymbol(ctypes.Structure):
    _fields_ = (("head", ctypes.c_char * 8), ("value", ctypes.c_uint64), ("size", ctypes.c_uint64))
    size: int


_LEAST_SLOT = 16
"""Bytes."""


def _slot(value: KernelArgument | GuardedSharedArray) -> ctypes.Array[ctypes.c_char]:
    """The bytes of an argument, with room for any scalar type that the kernel may have instead."""
    if isinstance(value, GuardedSharedArray):
        return ctypes.create_string_buffer(value.start.to_bytes(8, "little"), _LEAST_SLOT)
    return ctypes.create_string_buffer(value.tobytes(), max(_LEAST_SLOT, 2 * value.nbytes))


def _called(library: ctypes.CDLL, symbol: str) -> Bind:
    address = ctypes.c_void_p.in_dll(library, symbol).value

    def bind(launch: NativeLaunch, _report: LaunchReport) -> NativeCall:
        values = launch.values
        arguments = [ctypes.c_void_p(v.start) if isinstance(v, GuardedSharedArray) else scalar(v) for v in values]  # type: ignore[arg-type]
        function = ctypes.CFUNCTYPE(None, *map(type, arguments))(address)  # type: ignore[arg-type]

        def call() -> int:
            function(*arguments)
            return 0

        return call

    return bind


EMULATED = NativeCode(
    kind="emulator",
    compiler="g++",
    name="CPU emulator on {cpu}",
    bind=_emulated,
    check_scalar=lambda _value: None,
    has_blocks=True,
    has_threads=False,
)
"""CUDA kernels compiled for the emulator."""
C_FUNCTION = NativeCode(
    kind="c", compiler="gcc", name="{cpu}", bind=_called, check_scalar=scalar, has_blocks=False, has_threads=True
)
"""Functions of C and C++, as a rule with OpenMP."""
