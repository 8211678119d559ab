"""Which elements of an output are wrong, in words: rows, columns, tiles, a stretch, every so many. What is said is so.

The words name a region that holds every wrong element, and whether it holds others too. A region is a range, or a
part of every so many indices, along each axis; or a stretch of the array as it lies in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

LISTED = 4
"""So few wrong elements are named one by one."""
_PERIODS = tuple(2**n for n in range(1, 11))
_MOST_INDICES = 2**24
"""Of an axis with more of them only the first and the last wrong index are looked at."""
_WIDE = 0.9
"""A region with such a share of the array says nothing."""


@dataclass(frozen=True)
class Indices:
    """Indices along one axis: those from `start` to before `stop` that, modulo `period`, are `low` to `high`."""

    extent: int
    start: int
    stop: int
    period: int = 1
    low: int = 0
    high: int = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return self._below(self.stop) - self._below(self.start)

    @property
    def are_all(self) -> bool:
        """Whether it is the whole axis."""
        return self.count == self.extent

    def _below(self, end: int) -> int:
        whole, rest = divmod(end, self.period)
        width = self.high - self.low + 1
        return whole * width + min(max(rest - self.low, 0), width)

    def in_words(self, one: str) -> str:
        """As in "the last 3 rows".

        Args:
            one: what one index is called.
        """
        first, last, many = self.start, self.stop - 1, f"{one}s"
        if self.period > 1:
            if self.low == self.high:
                return f"every {_ordinal(self.period)} {one} from {first} to {last}"
            return f"{many} {self.low} to {self.high} of every {self.period}, from {first} to {last}"
        if first == last:
            return f"the last {one}" if self.stop == self.extent else f"{one} {first}"
        if self.stop == self.extent:
            return f"the last {last - first + 1} {many}{self._edge()}"
        return f"{many} {first} to {last}{self._tile()}"

    def _edge(self) -> str:
        """The largest tile behind whose last whole one they begin."""
        tiles = (t for t in reversed(_PERIODS) if self.extent % t and self.extent // t * t == self.start)
        tile = next(tiles, None)
        return "" if tile is None else f" (behind whole tiles of {tile})"

    def _tile(self) -> str:
        width = self.stop - self.start
        return f" (a whole tile of {width})" if width in _PERIODS and self.start % width == 0 else ""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def pattern(wrong: np.ndarray) -> str:
    """The wrong elements in words, as in "exactly the last 8 columns"; empty where none is wrong.

    Args:
        wrong: true where an element is wrong, in the output's shape.
    """
    count = int(np.count_nonzero(wrong))
    if not count:
        return ""
    if count == wrong.size:
        return "all elements"
    if count <= LISTED:
        places = (",".join(map(str, place)) for place in np.argwhere(wrong).tolist())
        return "exactly " + " and ".join(f"[{place}]" for place in places)
    regions = [_box(wrong), *_stretch(wrong)]
    size, words = min(((math.prod(i.count for i in region), words) for region, words in regions), key=lambda r: r[0])
    if size == count:
        return f"exactly {words}"
    right, within = _box(~wrong)
    if all(indices.period == 1 for indices in right) and math.prod(i.count for i in right) == wrong.size - count:
        return f"all but {within}"
    return f"only in {words}, {count} of its {size}" if size < _WIDE * wrong.size else "spread over the whole array"


Region = tuple[Sequence[Indices], str]
"""Indices along each axis, with the region in words."""


def _box(wrong: np.ndarray) -> Region:
    """The indices along each axis at which anything is wrong."""
    axes = range(wrong.ndim)
    found = [_indices(np.asarray(wrong.any(axis=tuple({*axes} - {axis})))) for axis in axes]
    names = _NAMES.get(wrong.ndim) or [f"axis-{axis} slice" for axis in axes]
    words = [indices.in_words(name) for indices, name in zip(found, names, strict=True) if not indices.are_all]
    return found, " in ".join(reversed(words))


_NAMES = {1: ("element",), 2: ("row", "column"), 3: ("plane", "row", "column")}


def _stretch(wrong: np.ndarray) -> Iterator[Region]:
    """From the first wrong element in memory to the last, of an array of several axes."""
    if wrong.ndim > 1:
        stretch = _range(wrong.reshape(-1))
        yield [stretch], f"{stretch.in_words('element')} in memory"


def _range(hit: np.ndarray) -> Indices:
    return Indices(hit.size, int(np.argmax(hit)), hit.size - int(np.argmax(hit[::-1])))


def _indices(hit: np.ndarray) -> Indices:
    """The fewest indices that hold all that are hit; a part of every so many only where most of it is hit."""
    whole = _range(hit)
    if hit.size > _MOST_INDICES:
        return whole
    places = np.flatnonzero(hit)
    if len(places) == whole.count:
        return whole
    apart = int(np.gcd.reduce(np.diff(places)))
    periods = [p for p in {*_PERIODS, apart} if 1 < p < whole.count]
    parts = (_part(whole, places, period) for period in sorted(periods))
    return min([whole, *(part for part in parts if 2 * len(places) > part.count)], key=lambda part: part.count)


def _part(whole: Indices, places: np.ndarray, period: int) -> Indices:
    phases = places % period
    return Indices(whole.extent, whole.start, whole.stop, period, int(phases.min()), int(phases.max()))
