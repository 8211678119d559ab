"""Whether a launch computed what it should.

Here: the data of one launch: what it is given, what it must compute, how far that may be off, and where it is wrong.
The words for what is wrong name a region that holds every wrong element, and whether it holds others too. A region is
a range, or a part of every so many indices, along each axis; or a stretch of the array as it lies in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.in_pieces import magnitude
from tui_tuner.evaluate.tolerance import AllowedError, Bound, Verdict, loosest, wrong_elements
from tui_tuner.evaluate.tolerance import compare as compare_here
from tui_tuner.problem.blocks import copied
from tui_tuner.problem.compared import named
from tui_tuner.problem.domains import SPIKES
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.model import Problem
from tui_tuner.problem.placement import in_order
from tui_tuner.problem.textures import Texture

MAY_ERR = (
    "the kernel as given alone says what is right, and it may be the one that loses more, as in a long sum: "
    "a [reference] in the problem file would tell"
)
"""Said of a wrong result that is off by no more than rounding may be."""

CompareOutput = Callable[[int, np.ndarray, Bound], Verdict]
"""Compares the output at an argument's index with what is expected, within a bound."""
FetchOutput = Callable[[int], np.ndarray]
"""The present content of the output at an argument's index."""


@dataclass(frozen=True)
class LaunchData:
    """Arguments of one launch with what it must compute.

    Attributes:
        index: of the test; the last one is the timed size.
        label: the sizes, and what inputs the test changes, in words.
        expected: output arrays by argument index.
        bounds: their allowed deviation.
        texture: how the inputs are distributed.
        is_certain: whether a reference says what is expected, and not the kernel as given.
    """

    index: int
    label: str
    arguments: list[KernelArgument]
    expected: dict[int, np.ndarray]
    bounds: dict[int, Bound]
    texture: Texture = Texture.NOISE
    is_certain: bool = False

    @property
    def arrays(self) -> frozenset[int]:
        """Indices of the array arguments."""
        return frozenset(i for i, a in enumerate(self.arguments) if isinstance(a, np.ndarray))

    def is_wider(self, than: LaunchData) -> bool:
        """Whether clearly more is allowed of an output than with these data, as if the kernel as given erred there."""
        return any(self.bounds[index].is_wider(bound) for index, bound in than.bounds.items())

    def check(self, problem: Problem, compare: CompareOutput, output: FetchOutput) -> tuple[float, str | None]:
        """Largest deviation relative to the allowed one, and what is wrong in words, with its pattern.

        Args:
            compare: compares the output at an argument's index with what is expected of it.
            output: fetches the whole output, which is done for a wrong one only: a device may compare by itself.
        """
        worst = 0.0
        for index, expected in self.expected.items():
            share, mismatch = compare(index, expected, self.bounds[index])
            worst = max(worst, share)
            if mismatch is not None:
                argument = problem.arguments[index]
                got, right = (in_order(argument, array) for array in (output(index), expected))
                if argument.addresses:
                    _, mismatch = compare_here(got, right, self.bounds[index])
                where, name = pattern(wrong_elements(got, right, self.bounds[index])), named(argument)
                is_rounding = problem.reference is None and _is_no_more_than_rounding(got, right)
                told = (f"wrong: {where}" if where else "", MAY_ERR if is_rounding else "")
                return worst, "; ".join([f"at {self.label}: {name}{mismatch}", *filter(None, told)])
        return worst, None


def _is_no_more_than_rounding(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether no element is further off than the error of a kernel may be at all."""
    is_real = is_floating(got.dtype)
    return is_real and compare_here(got, expected, loosest(expected, got.dtype))[1] is None


def strictest(problem: Problem, sets: Sequence[LaunchData]) -> dict[str, AllowedError]:
    """The least that elements of each floating-point output may be off, with noise as input.

    An output without a finite element other than zero has none.
    """
    found: dict[str, AllowedError] = {}
    for data in (one for one in sets if one.texture is Texture.NOISE):
        for index, expected in data.expected.items():
            argument, usual = problem.arguments[index], magnitude(expected)
            if usual and is_floating(dtype_named(argument.dtype)):
                bound = data.bounds[index]
                allowed = AllowedError(of_usual=bound.absolute / usual, of_element=bound.relative)
                found[argument.name] = min(allowed, found.get(argument.name, allowed), key=lambda one: one.together)
    return found


def with_leftovers(data: LaunchData, poisoned: Collection[int]) -> list[LaunchData]:
    """The same launch over outputs as an earlier one may have left them: right, but for few elements.

    Who looks at what is there, and leaves it where it seems to be right, or to be a number, passes over poison only.
    So does a least or largest element that is begun with the poison. An output of one element has been larger, and
    smaller in a second launch.

    Args:
        poisoned: outputs of which nothing else is expected to be there; none of these, and there is no such launch.
    """
    if not poisoned:
        return []
    is_one_sided = any(_places_changed(data.expected[index].size) == 1 for index in poisoned)
    return [_left_by_an_earlier_launch(data, poisoned, signs) for signs in ((1, -1), (-1,))[: 1 + is_one_sided]]


def _places_changed(size: int) -> int:
    return min(SPIKES, size // 16 + 2, size)


def _left_by_an_earlier_launch(data: LaunchData, poisoned: Collection[int], signs: Sequence[int]) -> LaunchData:
    """One of them; its wrong elements are larger and smaller than right ones, in turns as the signs say."""
    random, arguments = np.random.default_rng(), list(data.arguments)
    for index in poisoned:
        left = copied(data.expected[index], arguments[index].dtype)
        # Without shuffling it takes no longer for many elements: a permutation of 134 million takes seconds.
        places = random.choice(left.size, _places_changed(left.size), replace=False, shuffle=False)
        left.flat[places] = _others(
            left.flat[places], int(data.bounds[index].absolute) if left.dtype.kind in "iu" else 0, signs
        )
        arguments[index] = left
    return replace(data, label=f"{data.label}, over the results of an earlier launch", arguments=arguments)


def _others(values: np.ndarray, allowed: int, signs: Sequence[int]) -> np.ndarray:
    """Finite values that are others, larger or smaller as the signs say in turns, where there is room.

    Args:
        allowed: by how much whole numbers may differ.
    """
    turns = np.resize(signs, values.size)
    if is_floating(values.dtype):
        most = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))) + 1
        less = np.where(values > 0, 0.0, -most)  # in any order: the bits of a negative number are large ones
        return np.asarray(np.where(turns > 0, most, less).astype(values.dtype))
    if values.dtype == bool:
        return np.asarray(np.logical_not(values))
    step, limits = values.dtype.type(allowed + 1), np.iinfo(values.dtype)
    grows = np.where(turns > 0, values <= limits.max - step, values < limits.min + step)
    return np.asarray(np.where(grows, values + step, values - step))


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
