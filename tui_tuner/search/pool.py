"""The surrogate's candidates: a whole space where it is small, else a sample and what is near the best."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np

from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.value_order import exact, in_order, steps_between
from tui_tuner.search.features import FeatureMap, Places

LISTED = 20_000
"""A space with no more configurations is listed; all are candidates each time."""
SAMPLED = 4_000
"""Candidates drawn at random from a larger one, once in a search."""
MUTATED = 100
"""Candidates that differ from one of the best in a few tunables, drawn for each choice."""
MOST_CHANGES = 3

PlaceRow = tuple[int, ...]
"""A configuration: for each tunable the place of its value."""


class Pool:
    """Candidates of a search space.

    Args:
        space: the valid configurations.
        rng: draws the sample of a large space, and later what is near its best.

    Attributes:
        features: of its configurations.
    """

    def __init__(self, space: SearchSpace, rng: random.Random) -> None:
        self._space = space
        self._rng = rng
        self._values = {name: in_order(values) for name, values in space.tunables.items()}
        self._places = {name: steps_between(values) for name, values in space.tunables.items()}
        self.features = FeatureMap(list(self._values.values()))
        self._is_whole = space.size_up_to(LISTED + 1) <= LISTED
        drawn = space.configurations() if self._is_whole else space.sample(SAMPLED, rng)
        self._known_valid: dict[PlaceRow, bool] = {}
        self._rows = self.array([self.row(configuration) for configuration in drawn])

    def array(self, rows: Sequence[PlaceRow]) -> Places:
        """Rows as an array, also where there are none."""
        return np.array(rows, dtype=np.intp).reshape(len(rows), len(self._values))

    def row(self, configuration: Configuration) -> PlaceRow:
        """A configuration of listed values as a row."""
        return tuple(self._places[name][exact(configuration[name])] for name in self._values)

    def configuration(self, row: Iterable[int]) -> Configuration:
        """The configuration of a row."""
        return {name: values[place] for (name, values), place in zip(self._values.items(), row, strict=True)}

    def candidates(self, seen: set[PlaceRow], best: Sequence[PlaceRow]) -> Places:
        """Valid configurations not seen yet: those listed or sampled, in a large space also those near the best."""
        rows = self._rows
        if not self._is_whole:
            near = dict.fromkeys(row for one in best for row in self._near(one))
            rows = np.unique(np.vstack([rows, self.array(list(near))]), axis=0)
        return rows[[tuple(row) not in seen for row in rows.tolist()]]

    def _near(self, row: PlaceRow) -> Iterable[PlaceRow]:
        """Valid ones with any other value of one tunable, and random ones with a few others."""
        changed = [
            (*row[:tunable], place, *row[tunable + 1 :])
            for tunable, values in enumerate(self._values.values())
            for place in range(len(values))
        ]
        changed.extend(self._mutated(row) for _ in range(MUTATED))
        return (one for one in dict.fromkeys(changed) if self._is_valid(one))

    def _is_valid(self, row: PlaceRow) -> bool:
        if row not in self._known_valid:
            self._known_valid[row] = self._space.holds(self.configuration(row))
        return self._known_valid[row]

    def _mutated(self, row: PlaceRow) -> PlaceRow:
        lengths = [len(values) for values in self._values.values()]
        changed = list(row)
        for tunable in self._rng.sample(range(len(row)), min(len(row), self._rng.randint(2, MOST_CHANGES))):
            changed[tunable] = self._rng.randrange(lengths[tunable])
        return tuple(changed)
