"""Arrays in memory that an executor shares: each between guards, and what they are restored from.

A memory is two files that have no name: the arrays, and the content to restore, which is sealed once it is written:
nobody can change it any more. An executor is given both, and maps them itself.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tui_tuner.evaluate.devices.faults import DeviceFault, Stray, illegal
from tui_tuner.evaluate.devices.native.protocol import Memory, Span
from tui_tuner.problem.placement import ADDRESS_BYTES, addresses_of_parts

_PAGE = mmap.PAGESIZE
_ALIGNMENT = 16
_LEAST_GUARD, _MOST_GUARD = 1 << 20, 1 << 28
_FILLERS = (0x7B, 0xFB)
"""Of them large numbers of either sign are made: no sum, largest or least element hides both."""


@dataclass(frozen=True, eq=False)
class SharedArray:
    """An array of a memory.

    Attributes:
        pages: all bytes of its pages.
        filler: what those beside the array are.
    """

    place: Span
    pages: np.ndarray
    filler: int

    @property
    def nbytes(self) -> int:
        """Of the array."""
        return self.place.end - self.place.start

    def bytes_view(self) -> np.ndarray:
        """The array's bytes."""
        start = self.place.start - self.place.first
        return self.pages[start : start + self.nbytes]

    def damage(self, argument: int) -> DeviceFault | None:
        """That something was written beside the array inside its own pages, as a fault; None where nothing was.

        Args:
            argument: the array's index.
        """
        start = self.place.start - self.place.first
        before = np.flatnonzero(self.pages[:start] != self.filler)
        if before.size:
            stray = Stray(argument, start - int(before[-1]), is_before=True)
            return illegal(f"argument {argument + 1} was written before its start", stray)
        behind = np.flatnonzero(self.pages[start + self.nbytes :] != self.filler)
        if behind.size:
            stray = Stray(argument, int(behind[0]), is_before=False)
            return illegal(f"argument {argument + 1} was written past its end", stray)
        return None


class SharedMemory:
    """Copies of some arrays, each of which lies with its end (else its start) against a guard.

    The start is aligned to 16 bytes, so up to 15 bytes may lie between the end and its guard.

    Args:
        restored: which of them are restored before each launch.
        listed: which of them kernels reach by the addresses of their parts, and how many these are.

    Attributes:
        lists: where the addresses of their parts lie, by the place of the array.
        descriptors: of the two files.

    Raises:
        MemoryError: there is too little for them.
    """

    def __init__(
        self,
        arrays: Sequence[np.ndarray],
        restored: Collection[int],
        *,
        guard_end: bool,
        listed: Mapping[int, int] | None = None,
    ) -> None:
        places: list[Span] = []
        parts = listed or {}
        for nbytes in (*(array.nbytes for array in arrays), *(ADDRESS_BYTES * count for count in parts.values())):
            places.append(_placed(nbytes, places[-1].after if places else 0, guard_end=guard_end))
        nbytes = places[-1].after if places else _PAGE
        _refuse_too_much(sum(place.last - place.first for place in places))
        files = [os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING) for name in ("arrays", "pristine")]
        self.descriptors = tuple(files)
        os.ftruncate(files[0], nbytes)
        pages = np.frombuffer(
            mmap.mmap(files[0], nbytes), np.uint8
        )  # guards take up no memory while nobody writes there
        self.arrays = [_filled(pages, place, array) for place, array in zip(places, arrays, strict=False)]
        self.lists = dict(zip(parts, places[len(arrays) :], strict=True))
        offsets: list[tuple[int, int]] = []
        end = 0
        for index in sorted(restored):
            offsets.append((index, end))
            end += _written(files[1], arrays[index])
        fcntl.fcntl(files[1], fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
        lists = [
            (array, own, addresses_of_parts(0, arrays[array].nbytes, parts[array]).tolist())
            for own, array in enumerate(parts, len(arrays))
        ]
        self.told = Memory(nbytes, places, offsets, end, lists)

    def close(self) -> None:
        """Give it back, as soon as nothing views it any more."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.arrays.clear()


def _placed(nbytes: int, reserved: int, *, guard_end: bool) -> Span:
    mapped = max(_PAGE, -(-nbytes // _PAGE) * _PAGE)
    guard = min(max(_LEAST_GUARD, mapped), _MOST_GUARD)
    first = reserved + guard
    start = first + (mapped - nbytes) // _ALIGNMENT * _ALIGNMENT if guard_end else first
    return Span(reserved, first, start, start + nbytes, first + mapped, first + mapped + guard)


def _refuse_too_much(nbytes: int) -> None:
    """Ask the operating system for as much as will be used: of a file's memory it does not say beforehand."""
    try:
        mmap.mmap(-1, max(nbytes, 1)).close()
    except OSError as error:
        raise MemoryError(f"{nbytes} bytes: {error.strerror}") from error


def _filled(pages: np.ndarray, place: Span, values: np.ndarray) -> SharedArray:
    array = SharedArray(place, pages[place.first : place.last], secrets.choice(_FILLERS))
    array.pages[:] = array.filler
    array.bytes_view()[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return array


def _written(file: int, values: np.ndarray) -> int:
    """Append an array to a file; its bytes, up to where the next one lies aligned."""
    content = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    padding = -content.nbytes % _ALIGNMENT
    left = content.data
    while left:
        left = left[os.write(file, left) :]
    os.write(file, bytes(padding))
    return content.nbytes + padding
