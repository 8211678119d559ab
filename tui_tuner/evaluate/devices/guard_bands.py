"""Bands of a pattern on either side of an array, which notice writes that leave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

PATTERN = 0xFFF5
"""Not a number as float16, bfloat16, float32 and float64, so that values read from a guard show in results too."""
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


def pattern(start: int, nbytes: int) -> np.ndarray:
    """The pattern's bytes (uint8) from an even or odd offset on."""
    return np.full(nbytes // 2 + 1, PATTERN, np.uint16).view(np.uint8)[start % 2 :][:nbytes]


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


def damage(layout: Layout, before: np.ndarray, after: np.ndarray) -> str | None:
    """Where the pattern before and after an array (uint8) was written over, in words."""
    end = layout.offset + layout.nbytes
    return damage_in_words(layout, overwritten(before, 0), overwritten(after, end))


def overwritten(band: np.ndarray, start: int) -> Overwritten:
    """Where a band (uint8) that begins at an offset of the pattern was written over."""
    places = np.flatnonzero(band != pattern(start, band.size))
    return (int(places[0]), int(places[-1])) if places.size else None


def damage_in_words(layout: Layout, before: Overwritten, after: Overwritten) -> str | None:
    """What was written over on either side of an array, in words; None where nothing was."""
    if before is not None:
        return f"wrote before its start (nearest damaged byte -{layout.offset - before[1]})"
    return None if after is None else f"wrote past its end (first damaged byte +{after[0]})"
