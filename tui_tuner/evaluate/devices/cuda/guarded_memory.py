"""Device memory that notices who leaves it: unmapped addresses around an array, or bands of a pattern.

With the driver's virtual memory the pages of an array stand alone in a reserved range of addresses, and
whatever touches an address before the first or after the last page faults. What is left of the pages beside the
array carries a pattern, as do the bands where virtual memory is not supported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import byref, c_size_t, c_uint64
from dataclasses import dataclass, replace

import numpy as np

from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.backends import Opaque
from tui_tuner.evaluate.devices.cuda.driver import AccessDescription, AllocationProperties, Driver, Location
from tui_tuner.evaluate.devices.faults import DeviceFault, illegal
from tui_tuner.evaluate.devices.guard_bands import (
    ALIGNMENT,
    PATTERN,
    Band,
    Layout,
    Overwritten,
    band_layout,
    damage_found,
    overwritten,
)
from tui_tuner.problem.placement import ADDRESS_BYTES, addresses_of_parts

LEAST_ALIGNMENT = 16
"""Alignment of the start of an array that ends at a page's end: the widest load of one thread."""

_SUPPORTS_VIRTUAL_MEMORY = 102
_PINNED = 1
_DEVICE = 1
_READ_WRITE = 3
_MINIMUM = 0
SPARE_BYTES = 2**28
"""Of arrays that were given back and stay mapped: to map one takes longer than most launches."""


def page_layout(nbytes: int, granularity: int, *, guard_end: bool) -> Layout:
    """An array flush with the end (else the start) of whole pages of `granularity` bytes."""
    mapped = max(1, -(-nbytes // granularity)) * granularity
    if not guard_end:
        return Layout(mapped, 0, nbytes)
    alignment = ALIGNMENT if nbytes % ALIGNMENT == 0 else LEAST_ALIGNMENT
    return Layout(mapped, (mapped - nbytes) // alignment * alignment, nbytes)


FindDamage = Callable[[Sequence[Band]], Sequence[Overwritten]]
"""Looks at bands in device memory, all of them at once."""


@dataclass(frozen=True)
class GuardedDeviceArray:
    """Guarded memory of one array.

    Attributes:
        base: first mapped address.
        release: gives everything back.
        listed: where the addresses of its parts lie, if kernels reach it by these; its own.
        parts: how many they are.
    """

    base: int
    layout: Layout
    release: Callable[[], None]
    listed: GuardedDeviceArray | None = None
    parts: int = 0

    @property
    def address(self) -> int:
        """The address of the array's first byte."""
        return self.base + self.layout.offset

    @property
    def given(self) -> int:
        """The address that a kernel is given: of the array, or of the list of its parts' addresses."""
        return self.address if self.listed is None else self.listed.address

    @property
    def addresses(self) -> np.ndarray:
        """Of its parts, as they have to be in the list."""
        return addresses_of_parts(self.address, self.layout.nbytes, self.parts)

    @property
    def regions(self) -> tuple[GuardedDeviceArray, ...]:
        """What has bands of its own: the array and, where it has one, the list."""
        return (self,) if self.listed is None else (self, self.listed)

    @property
    def bands(self) -> tuple[Band, Band]:
        """Before the array and after it."""
        end = self.layout.offset + self.layout.nbytes
        return Band(self.base, self.layout.offset, 0), Band(self.base + end, self.layout.after, end)


@dataclass(frozen=True)
class DeviceArrays:
    """The arguments of one launch in device memory.

    Attributes:
        arrays: index of an argument to its memory.
        pristine: index of a restored argument to the address of its untouched copy.
        digests: index of any other array to the digest of what it held at first, where the device can tell.
        arguments: what the backend launches with.
    """

    arrays: dict[int, GuardedDeviceArray]
    pristine: dict[int, int]
    digests: dict[int, int]
    arguments: list[Opaque]


class GuardedMemory:
    """Allocates guarded arrays on one device; some that are given back serve again, with nothing left in them."""

    def __init__(self, driver: Driver, device: int) -> None:
        self._driver = driver
        self._location = Location(_DEVICE, device)
        self._properties = AllocationProperties(type=_PINNED, location=self._location)
        self._granularity = self._find_granularity(device)
        self._spare: dict[Layout, list[GuardedDeviceArray]] = {}
        self._spare_bytes = 0

    @property
    def faults(self) -> bool:
        """Whether leaving an array faults (else only writes are noticed, afterwards)."""
        return self._granularity is not None

    def _find_granularity(self, device: int) -> int | None:
        if not self._driver.attribute(device, _SUPPORTS_VIRTUAL_MEMORY):
            return None
        size = c_size_t()
        self._driver.call("cuMemGetAllocationGranularity", byref(size), byref(self._properties), _MINIMUM)
        return size.value

    def allocate(self, nbytes: int, *, guard_end: bool, parts: int = 0) -> GuardedDeviceArray:
        """Memory for an array, all of it filled with the pattern.

        Args:
            parts: of how many parts there is a list of addresses; 0 where there is none.

        Raises:
            CudaError: out of memory.
        """
        if self._granularity is None:
            layout = band_layout(nbytes)
            base = self._driver.allocate(layout.mapped)
            array = GuardedDeviceArray(base, layout, lambda: self._driver.free(base))
        else:
            array = self._taken(page_layout(nbytes, self._granularity, guard_end=guard_end), self._granularity)
        self._driver.fill(array.base, PATTERN, array.layout.mapped, width=2)
        return self._with_list(array, parts) if parts else array

    def _with_list(self, array: GuardedDeviceArray, parts: int) -> GuardedDeviceArray:
        """The array with the list of the addresses of its parts, in memory that is guarded as well."""
        with ExitStack() as undo:
            undo.callback(array.release)
            listed = self.allocate(ADDRESS_BYTES * parts, guard_end=True)
            undo.callback(listed.release)
            held = replace(array, listed=listed, parts=parts)
            self._driver.upload(listed.address, held.addresses)
            release = undo.pop_all()
        return replace(held, release=release.close)

    def _taken(self, layout: Layout, margin: int) -> GuardedDeviceArray:
        if spare := self._spare.get(layout):
            array = spare.pop()
            self._spare_bytes -= layout.mapped
        else:
            try:
                array = self._map(layout, margin)
            except CudaError:
                if not self._spare_bytes:
                    raise
                self.trim()
                array = self._map(layout, margin)
        return replace(array, release=lambda: self._put_by(array))

    def _put_by(self, array: GuardedDeviceArray) -> None:
        if self._spare_bytes + array.layout.mapped > SPARE_BYTES:
            array.release()
            return
        self._driver.fill(array.base, PATTERN, array.layout.mapped, width=2)  # the next kernel might look there
        self._spare.setdefault(array.layout, []).append(array)
        self._spare_bytes += array.layout.mapped

    def trim(self) -> None:
        """Give back what no array is in."""
        for spare in self._spare.values():
            for array in spare:
                array.release()
        self._spare.clear()
        self._spare_bytes = 0

    def _map(self, layout: Layout, margin: int) -> GuardedDeviceArray:
        call, reserved, handle = self._driver.call, c_uint64(), c_uint64()
        size = layout.mapped + 2 * margin
        access = AccessDescription(self._location, _READ_WRITE)
        with ExitStack() as undo:
            call("cuMemAddressReserve", byref(reserved), size, 0, 0, 0)
            undo.callback(call, "cuMemAddressFree", reserved.value, size)
            call("cuMemCreate", byref(handle), layout.mapped, byref(self._properties), 0)
            undo.callback(call, "cuMemRelease", handle.value)
            base = reserved.value + margin
            call("cuMemMap", base, layout.mapped, 0, handle.value, 0)
            undo.callback(call, "cuMemUnmap", base, layout.mapped)
            call("cuMemSetAccess", base, layout.mapped, byref(access), 1)
            release = undo.pop_all()
        return GuardedDeviceArray(base, layout, release.close)

    def violation(self, arrays: Mapping[int, GuardedDeviceArray], find: FindDamage | None = None) -> DeviceFault | None:
        """That the pattern beside an array was written over, the first of them; or None.

        Args:
            arrays: by the index of their argument.
            find: looks at bands on the device; None to look at them here.
        """
        regions = [(key, region) for key, array in arrays.items() for region in array.regions]
        bands = [band for _, region in regions for band in region.bands]
        found = iter((find or self._find_damage)(bands))
        for key, region in regions:
            is_list = region is not arrays[key]
            if fault := damage_found(key, region.layout, next(found), next(found), is_list=is_list):
                return fault
        for key, array in arrays.items():
            if array.listed and self._is_changed(array, array.listed):
                return illegal(f"argument {key + 1}: wrote to its list of addresses, which can only be read")
        return None

    def _is_changed(self, array: GuardedDeviceArray, listed: GuardedDeviceArray) -> bool:
        held = np.empty_like(array.addresses)
        self._driver.download(held, listed.address)
        return not np.array_equal(held, array.addresses)

    def _find_damage(self, bands: Sequence[Band]) -> Sequence[Overwritten]:
        return [overwritten(self._downloaded(band), band.start) for band in bands]

    def _downloaded(self, band: Band) -> np.ndarray:
        content = np.empty(band.nbytes, np.uint8)
        if content.size:
            self._driver.download(content, band.address)
        return content
