"""Search guided by a model of log(time): Bayesian optimisation by Gaussian processes over a pool of candidates.

J. Mockus, On Bayesian Methods for Seeking the Extremum, 1974; D. R. Jones et al., Efficient Global Optimization of
Expensive Black-Box Functions, 1998: next is what promises the largest expected improvement over the best. It is
multiplied by the probability that the configuration works (J. R. Gardner et al., Bayesian Optimization with
Inequality Constraints, ICML 2014), which a second process learns from failures, by regression on labels
(Rasmussen and Williams, section 6.5).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_ndtr, ndtr

from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact, in_order, steps_between
from tui_tuner.search.gaussian_process import Array, FeatureMap, GaussianProcess, Places

AskTimes = Callable[[list[Configuration]], Sequence[float | None]]
"""Configurations in, the time of each in ms out; None where it failed."""

FIRST = 8
"""Configurations that fill the space before a model chooses."""
FILLING = 1_000
"""Random candidates that the first ones are chosen from."""
LEARNT = 300
"""Observations that a model learns from, the fastest and the last ones; more take too long."""
BEST = 5
"""In a large space, what is near so many of the fastest are candidates."""
FARTHEST = -6.0
"""Deviations below the best at which the asymptote takes over."""
TINY = 1e-9
"""Added to times, ms: a clock may say 0."""
LABEL_DEVIATION = 0.1
"""Added to a predicted label's standard deviation, so that no probability is quite 0 or 1."""


@dataclass(frozen=True)
class SurrogateJob:
    """What to search.

    Attributes:
        start: the configuration to begin with, where it is valid.
        known: configurations measured before, with their time in ms or None.
    """

    space: SearchSpace
    seed: int
    max_evaluations: int
    start: Configuration | None = None
    known: Sequence[tuple[Configuration, float | None]] = field(default=())


def run(job: SurrogateJob, ask: AskTimes) -> str:
    """Search until the budget is spent or every candidate is evaluated; returns why it ended."""
    rng = random.Random(job.seed)  # noqa: S311 - it is to be the same again
    surrogate = Surrogate(Pool(job.space, rng), np.random.default_rng(job.seed))
    for configuration, time in job.known:
        surrogate.learn([surrogate.pool.row(configuration)], [time])
    start = [] if job.start is None else [surrogate.pool.row(job.start)]
    left = job.max_evaluations
    while left:
        chosen = surrogate.choose(start)[:left]
        if not chosen:
            return "every configuration evaluated"
        left -= len(chosen)
        surrogate.learn(chosen, ask([surrogate.pool.configuration(row) for row in chosen]))
    return "budget spent"


class Surrogate:
    """Chooses what to evaluate next from what is known.

    Attributes:
        pool: of the candidates.
    """

    def __init__(self, pool: Pool, rng: np.random.Generator) -> None:
        self.pool = pool
        self._rng = rng
        self._times: dict[PlaceRow, float | None] = {}
        self._time_model = GaussianProcess(pool.features.groups)
        self._success_model = GaussianProcess(pool.features.groups)

    def learn(self, rows: Sequence[PlaceRow], times: Sequence[float | None]) -> None:
        """Remember times in ms, None for failures."""
        self._times.update(zip(rows, times, strict=True))

    def choose(self, start: Sequence[PlaceRow]) -> list[PlaceRow]:
        """The configurations to evaluate next: a batch that fills the space first, then one at a time.

        Args:
            start: what to begin with.
        """
        timed = {row: time for row, time in self._times.items() if time is not None}
        candidates = self.pool.candidates({*self._times, *start}, sorted(timed, key=lambda row: timed[row])[:BEST])
        begin = [row for row in start if row not in self._times]
        missing = FIRST - len(self._times) - len(begin)
        if begin or missing > 0:
            return [*begin, *self._far(candidates, begin, missing)]
        if not timed or not len(candidates):
            return self._far(candidates, [], 1)
        best = int(np.argmax(self._scores(candidates)))
        return [tuple(candidates[best].tolist())]

    def _far(self, candidates: Places, begun: Sequence[PlaceRow], count: int) -> list[PlaceRow]:
        """Candidates far from all that is known and from each other: each the farthest of a random third."""
        if not len(candidates):
            return []
        some = candidates[self._rng.permutation(len(candidates))[:FILLING]]
        points = self.pool.features.points(some)
        taken = self.pool.features.points(self.pool.array([*self._times, *begun]))
        distances = np.array([np.min(((taken - point) ** 2).sum(1), initial=np.inf) for point in points])
        chosen: list[int] = []
        for _ in range(min(count, len(some))):
            ranked = np.where(self._rng.random(len(some)) < 1 / 3, distances, -0.5)
            ranked[chosen] = -1
            farthest = int(np.argmax(ranked))
            chosen.append(farthest)
            distances = np.minimum(distances, ((points - points[farthest]) ** 2).sum(1))
        return [tuple(some[place].tolist()) for place in chosen]

    def _scores(self, candidates: Places) -> Array:
        """The logarithm of the improvement to expect of each candidate, failures taken into account."""
        rows = self._learnt_from()
        known = self.pool.features.points(self.pool.array(rows))
        points = self.pool.features.points(candidates)
        times = np.array([np.nan if (time := self._times[row]) is None else np.log(time + TINY) for row in rows])
        works = ~np.isnan(times)
        self._time_model.fit(known[works], times[works])
        mean, deviation = self._time_model.predict(points)
        scores: Array = _log_expected_improvement(times[works].min(), mean, deviation)
        if works.all():
            return scores
        self._success_model.fit(known, works.astype(np.float64))
        mean, deviation = self._success_model.predict(points)
        scores += log_ndtr((mean - 0.5) / np.hypot(deviation, LABEL_DEVIATION))
        return scores

    def _learnt_from(self) -> list[PlaceRow]:
        """What is known, where that is too much the fastest half of what may be and the last of the others."""
        rows = list(self._times)
        if len(rows) <= LEARNT:
            return rows
        ranked = sorted(rows, key=lambda row: math.inf if (time := self._times[row]) is None else time)
        fastest, others = ranked[: LEARNT // 2], set(ranked[LEARNT // 2 :])
        return [*fastest, *[row for row in rows if row in others][len(fastest) - LEARNT :]]


def _log_expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Of a normal distribution over the best; where the improvement is all but impossible by its asymptote."""
    z = (best - mean) / deviation
    log_density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    possible = np.maximum(z, FARTHEST)
    near = np.log(np.exp(-0.5 * possible**2) / np.sqrt(2 * np.pi) + possible * ndtr(possible))
    far = log_density - 2 * np.log(np.maximum(-z, 1))
    improvement: Array = np.log(deviation) + np.where(z > FARTHEST, near, far)
    return improvement


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
