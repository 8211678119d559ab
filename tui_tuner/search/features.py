"""Configurations as points for a model, and what is expected of them before anything is measured.

A number has the mean of its place among the values and of its logarithm, both from 0 to 1. Where the values are not
all powers of two, how often two divides a value, and whether it is a power of two, are coordinates with length scales
of their own: what a GPU does at multiples of a warp, a bank or a cache line is alike at values that are far from each
other, and what divides a problem of usual size leaves no rest to treat apart. Text is a coordinate for each value, all
with one length scale, so that any two of them are equally far from each other. Where several tunables make up the
threads of a block, their logarithm is a coordinate too.

What is expected holds for most kernels on most GPUs and is no more than where to begin: a model learns how times
differ from it. Its weights, in natural logarithms of the time, were chosen on recorded spaces (docs/search.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tui_tuner.problem.expressions import ExpressionError
from tui_tuner.problem.languages import Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import in_order, is_ordinal

Array: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]
"""Configurations as rows: for each tunable the place of its value."""

NO_POWER_OF_TWO = 0.3
"""Expected of each value that is no power of two, where others are."""
UNUSUAL = 0.3
"""Expected of each doubling of the threads of a block outside of what is usual."""
PART_OF_A_WARP = 0.3
"""Expected of a block that is no multiple of a warp."""
USUAL_THREADS = (90.0, 256.0)
"""Threads of a block: fewer hide little latency, more share registers and wait for each other."""
WARP = 32
MOST_BLOCKS = 100_000
"""Where more combinations of values decide how large a block is, nothing is expected of its threads."""


class Points(NamedTuple):
    """Configurations for a model.

    Attributes:
        coordinates: between 0 and 1, shape (configurations, columns).
        expected: natural logarithm of the time expected beforehand, shape (configurations,); 0 is the best.
    """

    coordinates: Array
    expected: Array


class FeatureMap:
    """Turns configurations into points.

    Attributes:
        groups: for each column of the points the number of its length scale.
    """

    def __init__(self, space: SearchSpace) -> None:
        values = [in_order(each) for each in space.tunables.values()]
        self._tables = [(place, table) for place, each in enumerate(values) for table in _tables(each)]
        self._expected = [_expected_of_values(each) for each in values]
        self._block = BlockTable(space)
        widths = [table.shape[1] for _, table in self._tables] + [1] * self._block.is_combined
        self.groups = np.repeat(np.arange(len(widths)), widths) if widths else np.zeros(1, dtype=np.intp)

    def points(self, places: Places) -> Points:
        """Coordinates, and what is expected."""
        columns = [table[places[:, tunable]] for tunable, table in self._tables]
        if self._block.is_combined:
            columns.append(self._block.scaled(places)[:, None])
        return Points(np.hstack(columns or [np.zeros((len(places), 1))]), self.expected(places))

    def expected(self, places: Places) -> Array:
        """The natural logarithm of the time that is expected beforehand; 0 is the best."""
        total = np.zeros(len(places))
        for tunable, table in enumerate(self._expected):
            total += table[places[:, tunable]]
        return total + self._block.expected(places)


class BlockTable:
    """The threads of a block for all values of those tunables that decide about them.

    Attributes:
        is_combined: whether several tunables do.
    """

    def __init__(self, space: SearchSpace) -> None:
        names = [name for name, values in space.tunables.items() if name in space.block_names and len(values) > 1]
        values = [in_order(space.tunables[name]) for name in names]
        self._tunables = [place for place, name in enumerate(space.tunables) if name in names]
        self._logs = np.zeros([1] * len(names))
        self._is_known = False
        if names and math.prod(map(len, values)) <= MOST_BLOCKS:
            self._fill(space, names, values)
        self.is_combined = self._is_known and len(names) > 1 and bool(np.ptp(self._logs))

    def _fill(self, space: SearchSpace, names: Sequence[str], values: Sequence[Sequence[Value]]) -> None:
        fixed = {name: each[0] for name, each in space.tunables.items() if len(each) == 1}
        try:
            threads = [space.threads({**fixed, **dict(zip(names, one, strict=True))}) for one in product(*values)]
        except (ExpressionError, ValueError):
            return
        self._is_known = min(threads) > 0
        if self._is_known:
            self._logs = np.log2(threads).reshape([len(each) for each in values])

    def scaled(self, places: Places) -> Array:
        """The logarithm of the threads, from 0 to 1 over all blocks."""
        scaled: Array = (self._of(places) - self._logs.min()) / np.ptp(self._logs)
        return scaled

    def expected(self, places: Places) -> Array:
        """What is expected of the threads of a block, as the natural logarithm of a time."""
        if not self._is_known:
            return np.zeros(len(places))
        logs = self._of(places)
        low, high = np.log2(USUAL_THREADS)
        outside = np.maximum(low - logs, 0) + np.maximum(logs - high, 0)
        is_part = np.round(2**logs) % WARP != 0
        expected: Array = UNUSUAL * outside + PART_OF_A_WARP * is_part
        return expected

    def _of(self, places: Places) -> Array:
        logs: Array = self._logs[tuple(places[:, self._tunables].T)]
        return logs


def _tables(values: Sequence[Value]) -> list[Array]:
    """The coordinates of each value: arrays with a row for each, one array for each length scale."""
    if len(values) < 2:
        return []
    if not is_ordinal(values):
        alike = np.eye(len(values)) * np.sqrt(0.5)
        return [alike if len(values) > 2 else np.array([[0.0], [1.0]])]
    numbers = np.array(values, dtype=np.float64)
    ranks = np.linspace(0, 1, len(numbers))
    if numbers.min() < 0:
        return [ranks[:, None]]
    logs = np.log2(numbers + (numbers.min() == 0))
    tables = [0.5 * (ranks + _from_0_to_1(logs))[:, None]]
    if len(values) == 2:
        return tables
    divisions = np.array([_divisions_by_two(value) for value in values])
    if divisions.any() and not (np.diff(divisions) > 0).all():
        tables.append((divisions / divisions.max())[:, None])
    if _are_mixed(values):
        tables.append(np.array([[float(_is_power_of_two(value))] for value in values]))
    return tables


def _expected_of_values(values: Sequence[Value]) -> Array:
    """What is expected of each value of a tunable, whatever the others are."""
    if not is_ordinal(values) or len(values) < 3 or not _are_mixed(values):
        return np.zeros(len(values))
    return np.array([0.0 if _is_power_of_two(value) else NO_POWER_OF_TWO for value in values])


def _are_mixed(values: Sequence[Value]) -> bool:
    """Whether some of these numbers are powers of two and some are not."""
    return len({_is_power_of_two(value) for value in values}) == 2


def _is_power_of_two(value: Value) -> bool:
    """Whether a number is 1, 2, 4, ...; so is 0, which most often switches something off."""
    whole = int(value)
    return whole == value and whole >= 0 and not whole & (whole - 1)


def _from_0_to_1(numbers: Array) -> Array:
    scaled: Array = (numbers - numbers.min()) / (numbers.max() - numbers.min())
    return scaled


def _divisions_by_two(value: Value) -> int:
    """How often two divides a whole number; 0 for zero and what is no whole number."""
    whole = int(value)
    return (whole & -whole).bit_length() - 1 if whole and whole == value else 0
