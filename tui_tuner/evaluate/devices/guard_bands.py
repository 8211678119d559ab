"""Bands of a pattern on either side of an array, which notice writes that leave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tui_tuner.evaluate.devices.faults import DeviceFault, Stray, illegal

PATTERN = 0xFFF5
"""Not a number as float16, bfloat16, float32 and float64, so that values read from a guard show in results too."""
LOUD = (0x7B7B, 0xFBFB)
"""Large numbers of either sign as each of these, for where nothing faults: who takes the largest or the least of what
it reads passes over what is no number."""
BAND = 65536
"""Bytes of pattern on either side of an array in ordinary memory."""
ALIGNMENT = 256


@dataclass(frozen=True)
class Layout:
    """Where an array lies inside the bytes that are mapped for it.

    Attributes:
        mapped: bytes that may be touched without a fault.
        offset: of the array's first byte.
        nbytes: of the array.
    """

    mapped: int
    offset: int
    nbytes: int

    @property
    def after(self) -> int:
        """Bytes between the array's end and the end of what is mapped."""
        return self.mapped - self.offset - self.nbytes


def band_layout(nbytes: int, alignment: int = ALIGNMENT) -> Layout:
    """An array between two bands, its start at a multiple of an alignment, bytes."""
    offset = -(-BAND // alignment) * alignment
    return Layout(offset + -(-nbytes // ALIGNMENT) * ALIGNMENT + BAND, offset, nbytes)


def pattern(start: int, nbytes: int, word: int = PATTERN) -> np.ndarray:
    """The bytes (uint8) of a pattern of 16 bits from an even or odd offset on."""
    return np.full(nbytes // 2 + 1, word, np.uint16).view(np.uint8)[start % 2 :][:nbytes]


Overwritten: TypeAlias = tuple[int, int] | None
"""The first and the last place of a band where the pattern is gone; None where it is whole."""


class Band(NamedTuple):
    """The pattern on one side of an array, in device memory.

    Attributes:
        start: the offset of the pattern at which it begins.
    """

    address: int
    nbytes: int
    start: int


def damage(
    argument: int, layout: Layout, before: np.ndarray, after: np.ndarray, word: int = PATTERN
) -> DeviceFault | None:
    """That the pattern before or after an argument's array (uint8) was written over; None where it is whole."""
    end = layout.offset + layout.nbytes
    return damage_found(argument, layout, overwritten(before, 0, word), overwritten(after, end, word))


def overwritten(band: np.ndarray, start: int, word: int = PATTERN) -> Overwritten:
    """Where a band (uint8) that begins at an offset of the pattern was written over."""
    places = np.flatnonzero(band != pattern(start, band.size, word))
    return (int(places[0]), int(places[-1])) if places.size else None


def damage_found(
    argument: int, layout: Layout, before: Overwritten, after: Overwritten, *, is_list: bool = False
) -> DeviceFault | None:
    """What was written over on either side of an array, as a fault; None where nothing was.

    Args:
        argument: its index.
        is_list: whether this is the list of the addresses of its parts, and not the array.
    """
    if before is not None:
        stray = Stray(argument, layout.offset - before[1], is_before=True)
        words = f"wrote before its start (nearest damaged byte -{stray.nbytes})"
    elif after is not None:
        stray = Stray(argument, after[0], is_before=False)
        words = f"wrote past its end (first damaged byte +{stray.nbytes})"
    else:
        return None
    what = "its list of addresses: " if is_list else ""
    return illegal(f"argument {argument + 1}: {what}{words}", None if is_list else stray)
