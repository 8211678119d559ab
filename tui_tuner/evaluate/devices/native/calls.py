"""How a loaded artifact is called: as a kernel of the emulator, or as a function of C. Standard library only."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tui_tuner.evaluate.devices import constant_mismatch, constant_symbols
from tui_tuner.evaluate.devices.native.protocol import MESSAGE_BYTES, CType, Launch, LaunchReport, Memory, Scalar, Span

Call = Callable[[], int]
"""Launches once and returns a `LaunchStatus`."""
Bind = Callable[["MappedLaunch", LaunchReport], Call]
"""Makes the call of a launch, which reports there."""


class MappedLaunch(NamedTuple):
    """A launch whose arrays are in this process.

    Attributes:
        base: the address where its memory begins.
    """

    launch: Launch
    memory: Memory
    base: int

    @property
    def values(self) -> Sequence[Span | Scalar]:
        """The values, arrays by where they lie, structures with the addresses of arrays in them."""
        values = [one if isinstance(one, Scalar) else self.memory.arrays[one] for one in self.launch.values]
        for index, offset, array in self.launch.pointers:
            structure, place = values[index], values[array]
            if isinstance(structure, Scalar) and isinstance(place, Span):
                values[index] = structure.holding(offset, self.base + place.start)
        return values

    @property
    def arguments(self) -> Sequence[Span | Scalar]:
        """What the kernel is given one by one: the values, but lists of addresses for arrays that have some."""
        lists = {array: self.memory.arrays[own] for array, own, _ in self.memory.lists}
        given = [
            value if isinstance(one, Scalar) else lists.get(one, value)
            for one, value in zip(self.launch.values, self.values, strict=True)
        ]
        return [value for index, value in enumerate(given) if index not in self.launch.aside]


class WatchedArray(ctypes.Structure):
    """Laid out as `Array` in the emulator's report.h: where an array and what is reserved for it begin and end."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in ("reserved", "start", "end", "after"))


def bound(library: ctypes.CDLL, symbol: str, *, emulated: bool) -> Bind:
    """What makes calls of a kernel.

    Raises:
        ValueError: the library lacks the symbol.
        AttributeError: as well.
    """
    return _emulated(library, symbol) if emulated else _called(library, symbol)


def _emulated(library: ctypes.CDLL, symbol: str) -> Bind:
    function = library[symbol]
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    tell_arrays = getattr(library, "tuner_arrays", None)  # there where a build watches what the kernel does

    def bind(mapped: MappedLaunch, report: LaunchReport) -> Call:
        launch, base, values = mapped.launch, mapped.base, mapped.values
        slots = [_slot(value, base) for value in mapped.arguments]
        addresses = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))
        numbers = (ctypes.c_uint * 10)(*launch.geometry, launch.order, launch.alone, launch.behind)
        message = ctypes.addressof(report) + LaunchReport.message.offset  # type: ignore[attr-defined]
        watched = (WatchedArray * len(values))(*(_watched(value, base) for value in values))

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


_LEAST_SLOT = 16
"""Bytes."""


def _slot(value: Span | Scalar, base: int) -> ctypes.Array[ctypes.c_char]:
    """The bytes of an argument, with room for any scalar type that the kernel may have instead."""
    if isinstance(value, Span):
        return ctypes.create_string_buffer((base + value.start).to_bytes(8, "little"), _LEAST_SLOT)
    content = bytes.fromhex(value.content)
    return ctypes.create_string_buffer(content, max(_LEAST_SLOT, 2 * len(content)))


def _watched(value: Span | Scalar, base: int) -> WatchedArray:
    if isinstance(value, Scalar):
        return WatchedArray()
    return WatchedArray(base + value.reserved, base + value.start, base + value.end, base + value.after)


def _called(library: ctypes.CDLL, symbol: str) -> Bind:
    address = ctypes.c_void_p.in_dll(library, symbol).value

    def bind(mapped: MappedLaunch, _report: LaunchReport) -> Call:
        arguments = [_argument(value, mapped.base) for value in mapped.arguments]
        function = ctypes.CFUNCTYPE(None, *map(type, arguments))(address)  # type: ignore[arg-type]

        def call() -> int:
            function(*arguments)
            return 0

        return call

    return bind


def _argument(value: Span | Scalar, base: int) -> object:
    if isinstance(value, Span):
        return ctypes.c_void_p(base + value.start)
    return _ctype(value.ctype).from_buffer_copy(bytes.fromhex(value.content))


_SIMPLE: dict[str, type[Any]] = {
    one._type_: one
    for one in (
        *(ctypes.c_bool, ctypes.c_byte, ctypes.c_ubyte, ctypes.c_short, ctypes.c_ushort, ctypes.c_int, ctypes.c_uint),
        *(ctypes.c_long, ctypes.c_ulong, ctypes.c_longlong, ctypes.c_ulonglong),
        *(ctypes.c_float, ctypes.c_double, ctypes.c_longdouble),
    )
}


def described(ctype: type[Any]) -> CType:
    """A type of ctypes in words that reach an executor: a simple one, an array or a structure of such."""
    if issubclass(ctype, ctypes.Structure):
        return [(name, described(kind)) for name, kind, *_ in ctype._fields_]
    if issubclass(ctype, ctypes.Array):
        element: Any = ctype._type_
        return ["*", described(element), ctype._length_]
    return str(ctype._type_)


def _ctype(words: CType | None) -> type[Any]:
    """The type of ctypes that `described` was given."""
    if isinstance(words, str):
        return _SIMPLE[words]
    if words is None:
        raise ValueError("a function of C needs the types of its arguments")
    if words[0] == "*":
        return type("Array", (ctypes.Array,), {"_type_": _ctype(words[1]), "_length_": words[2]})
    return type("Structure", (ctypes.Structure,), {"_fields_": [(name, _ctype(kind)) for name, kind in words]})


def constants_in(library: ctypes.CDLL, mapped: MappedLaunch) -> Iterator[tuple[int, bytes | int, int]]:
    """The address of each variable that a launch fills, what comes there, and the bytes of that.

    Raises:
        AttributeError: the library has no variable of this name that holds as much.
    """
    for index, name in mapped.launch.constants:
        value = mapped.values[index]
        content, nbytes = (
            (mapped.base + value.start, value.end - value.start)
            if isinstance(value, Span)
            else (bytes.fromhex(value.content), len(value.content) // 2)
        )
        symbols = (getattr(library, symbol, None) for symbol in constant_symbols(name))
        variable = next((one for one in symbols if one is not None), None)
        address = 0 if variable is None else int(ctypes.cast(variable, ctypes.c_void_p).value or 0)
        if mismatch := constant_mismatch(name, _bytes_at(address) if address else None, nbytes):
            raise AttributeError(mismatch)
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
