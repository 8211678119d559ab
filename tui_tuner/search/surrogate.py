"""Search guided by a model of log(time): Bayesian optimisation by Gaussian processes over a pool of candidates.

J. Mockus, On Bayesian Methods for Seeking the Extremum, 1974: next is what promises the largest improvement.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from tui_tuner.problem.languages import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact, in_order, steps_between
from tui_tuner.search.features import FeatureMap, Places

if TYPE_CHECKING:
    from tui_tuner.search.gaussian_process import ImprovementModel

Times = Sequence[tuple[Configuration, float | None]]
"""Configurations with their time in ms, None where they failed."""
AskTimes = Callable[[list[Configuration], int], Times]
"""Configurations in, and how many of them may be unfinished; out what was measured, maybe others too, at least one."""

FIRST = 8
"""Configurations that fill the space before a model chooses."""
AT_ONCE = 4
"""Configurations that a model chooses at a time: they are built side by side, and are as good as one after another."""
OVERLAP, FROM, MOST_OVERLAP = 0.25, 16, 12
"""What may be unfinished when more are chosen: a quarter of what is known beyond 16 or of what is left, 12 at most."""
AT_ONCE_LATER, LATER = 8, 24
"""Where nothing overlaps, configurations that a model chooses at a time after so many observations."""
FOR_EACH_DEVICE = 2
"""At least so many at a time for each of several devices: one is built while the other is measured."""
FILLING = 1_000
"""Random candidates that the first ones are chosen from."""
STEEP = 3.0
"""How much rather these are drawn where little time is expected: by the exponential of so many times its logarithm."""
LEARNT = 300
"""Observations that a model learns from, the fastest and the last ones; more take too long."""
BEST = 5
"""In a large space, what is near so many of the fastest are candidates."""
TINY = 1e-9
"""Added to times, ms: a clock may say 0."""


@dataclass(frozen=True)
class SurrogateJob:
    """What to search.

    Attributes:
        start: the configuration to begin with, where it is valid.
        known: configurations measured before, with their time in ms or None.
        devices: how many measure side by side.
        offered: valid configurations to evaluate with the first ones.
        overlaps: whether to choose before all is known that was chosen before.
    """

    space: SearchSpace
    seed: int
    max_evaluations: int
    start: Configuration | None = None
    known: Times = field(default=())
    devices: int = 1
    offered: Sequence[Configuration] = ()
    overlaps: bool = False


def run(job: SurrogateJob, ask: AskTimes) -> str:
    """Search until the budget is spent or every candidate is evaluated; returns why it ended."""
    rng = random.Random(job.seed)  # noqa: S311 - it is to be the same again
    surrogate = Surrogate(Pool(job.space, rng), np.random.default_rng(abs(job.seed)), job.devices, job.overlaps)
    surrogate.learn(job.known)
    first = [*([] if job.start is None else [job.start]), *job.offered]
    start = list(dict.fromkeys(surrogate.pool.row(one) for one in first))
    left = job.max_evaluations
    if left > FIRST:  # loaded while the first ones are evaluated
        threading.Thread(target=import_module, args=("tui_tuner.search.gaussian_process",), daemon=True).start()
    while left:
        chosen, unfinished = surrogate.choose(start, left)
        if not chosen:
            return "every configuration evaluated"
        measured = ask([surrogate.pool.configuration(row) for row in chosen], unfinished)
        left = max(0, left - len(measured))
        surrogate.learn(measured)
    return "budget spent"


class Surrogate:
    """Chooses what to evaluate next from what is known.

    Args:
        devices: how many measure side by side.
        overlaps: whether to choose before all is known that was chosen before.

    Attributes:
        pool: of the candidates.
    """

    def __init__(self, pool: Pool, rng: np.random.Generator, devices: int, overlaps: bool) -> None:
        self.pool = pool
        self._overlaps = overlaps
        self._for_devices = FOR_EACH_DEVICE * devices
        self._rng = rng
        self._times: dict[PlaceRow, float | None] = {}
        self._unfinished: list[PlaceRow] = []

    def learn(self, measured: Times) -> None:
        """Remember what was measured."""
        self._times.update((self.pool.row(configuration), time) for configuration, time in measured)
        self._unfinished = [row for row in self._unfinished if row not in self._times]

    def choose(self, start: Sequence[PlaceRow], left: int) -> tuple[list[PlaceRow], int]:
        """What to evaluate next: a batch that fills the space first, then what is unfinished and a few more.

        Args:
            start: what to begin with.
            left: how many may be evaluated in all that is left of the search.

        Returns:
            The configurations, and how many of them may be unfinished when the next are chosen.
        """
        known = len(self._times)
        overlap = max(0, min(MOST_OVERLAP, int(OVERLAP * min(known - FROM, left)))) if self._overlaps else 0
        at_once = max(AT_ONCE if self._overlaps or known < LATER else AT_ONCE_LATER, self._for_devices)
        further = self._further(start, at_once + overlap)[: left - len(self._unfinished)]
        chosen = [*self._unfinished, *further]
        is_last = not further or len(chosen) == left
        unfinished = 0 if is_last else max(0, min(overlap, len(chosen) - at_once))
        self._unfinished = chosen if unfinished else []
        return chosen, unfinished

    def _further(self, start: Sequence[PlaceRow], wanted: int) -> list[PlaceRow]:
        """What to add to what is unfinished, so that there are as many as wanted, fewer where many fail."""
        timed = {row: time for row, time in self._times.items() if time is not None}
        fastest = sorted(timed, key=lambda row: timed[row])[:BEST]
        candidates = self.pool.candidates({*self._times, *start, *self._unfinished}, fastest)
        begin = [row for row in start if row not in self._times and row not in self._unfinished]
        missing = FIRST - len(self._times) - len(begin)
        if begin or missing > 0:
            return [*begin, *self._far(candidates, begin, missing)]
        if not timed or not len(candidates):
            return self._far(candidates, [], 1)
        working = len(timed) / len(self._times)  # where most fail, each result tells more than another guess
        count = min(max(1, round(wanted * working) - len(self._unfinished)), len(candidates))
        return [tuple(candidates[place].tolist()) for place in self._most_promising(candidates, count)]

    def _far(self, candidates: Places, begun: Sequence[PlaceRow], count: int) -> list[PlaceRow]:
        """Likely candidates far from all that is known and from each other: each the farthest of a random third."""
        if not len(candidates):
            return []
        likely = np.exp(-STEEP * self.pool.features.expected(candidates))
        drawn = self._rng.choice(len(candidates), min(FILLING, len(candidates)), replace=False, p=likely / likely.sum())
        some = candidates[drawn]
        points = self.pool.features.points(some).coordinates
        taken = self.pool.features.points(self.pool.array([*self._times, *begun])).coordinates
        distances = np.array([np.min(((taken - point) ** 2).sum(1), initial=np.inf) for point in points])
        chosen: list[int] = []
        for _ in range(min(count, len(some))):
            ranked = np.where(self._rng.random(len(some)) < 1 / 3, distances, -0.5)
            ranked[chosen] = -1
            farthest = int(np.argmax(ranked))
            chosen.append(farthest)
            distances = np.minimum(distances, ((points - points[farthest]) ** 2).sum(1))
        return [tuple(some[place].tolist()) for place in chosen]

    def _most_promising(self, candidates: Places, count: int) -> list[int]:
        """Which candidates promise most together with what is unfinished."""
        rows, points = self._learnt_from(), self.pool.features.points
        times = np.array([np.nan if (time := self._times[row]) is None else np.log(time + TINY) for row in rows])
        known, begun = points(self.pool.array(rows)), points(self.pool.array(self._unfinished))
        return self._model.best(known, times, begun, points(candidates), count)

    @cached_property
    def _model(self) -> ImprovementModel:
        from tui_tuner.search.gaussian_process import ImprovementModel  # SciPy takes a second to load

        return ImprovementModel(self.pool.features.groups)

    def _learnt_from(self) -> list[PlaceRow]:
        """What the model learns from: all that is known, or where that is too much the fastest and the latest."""
        rows = list(self._times)
        if len(rows) <= LEARNT:
            return rows
        ranked = sorted(rows, key=lambda row: math.inf if (time := self._times[row]) is None else time)
        fastest, others = ranked[: LEARNT // 2], set(ranked[LEARNT // 2 :])
        return [*fastest, *[row for row in rows if row in others][len(fastest) - LEARNT :]]


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
        self.features = FeatureMap(space)
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
