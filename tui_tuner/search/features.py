"""Values of tunables as coordinates in which near means alike, for a model to learn from.

A number has the mean of its place among the values and of its logarithm, both from 0 to 1. Where the values are not
all powers of two, how often two divides a value is a coordinate of its own, with a length scale of its own: what a
GPU does at multiples of a warp, a bank or a cache line is alike at values that are far from each other. Text is a
coordinate for each value, all with one length scale, so that any two of them are equally far from each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tui_tuner.problem.model import Value
from tui_tuner.problem.value_order import is_ordinal
from tui_tuner.search.gaussian_process import Array

Places = NDArray[np.intp]
"""Configurations as rows: for each tunable the place of its value."""


class FeatureMap:
    """Turns configurations into points.

    Args:
        values: of each tunable, in their order.

    Attributes:
        groups: for each column of the points the number of its length scale.
    """

    def __init__(self, values: Sequence[Sequence[Value]]) -> None:
        tables = [(place, table) for place, each in enumerate(values) for table in _tables(each)]
        self._tables = tables or [(0, np.zeros((1, 1)))]
        self.groups = np.repeat(np.arange(len(self._tables)), [table.shape[1] for _, table in self._tables])

    def points(self, places: Places) -> Array:
        """Coordinates between 0 and 1, shape (configurations, columns)."""
        return np.hstack([table[places[:, tunable]] for tunable, table in self._tables])


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
    divisions = np.array([_divisions_by_two(value) for value in values])
    if divisions.any() and not (np.diff(divisions) > 0).all():
        tables.append((divisions / divisions.max())[:, None])
    return tables if len(values) > 2 else tables[:1]


def _from_0_to_1(numbers: Array) -> Array:
    scaled: Array = (numbers - numbers.min()) / (numbers.max() - numbers.min())
    return scaled


def _divisions_by_two(value: Value) -> int:
    """How often two divides a whole number; 0 for zero and what is no whole number."""
    whole = int(value)
    return (whole & -whole).bit_length() - 1 if whole and whole == value else 0
