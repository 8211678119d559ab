"""Which tunables still matter, by their main effects, and freezing the others at their best value.

The effect of a tunable is estimated as in a factorial design (D. C. Montgomery, Design and Analysis of Experiments;
for tuned software also F. Hutter et al., An Efficient Approach for Assessing Hyperparameter Importance, ICML 2014):
one number for each of its values, whatever the others are. That number is the best time and not the mean, since what
counts is the fastest that a value allows, and since a search does not sample all values alike. A tunable that matters
only together with another shows as far as the best times of its values differ, and no further.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value

LEAST_VALUES = 2
"""So many values of a tunable must be known before it is said not to matter."""
LEAST_EVALUATIONS = 2
"""A value is known when it was timed in so many configurations."""


def spreads(evaluations: Sequence[Evaluation]) -> dict[str, float]:
    """For each tunable the best time of its worst value over that of its best; 1 if it does not matter.

    Only what was verified and timed counts, and only tunables with two or more such values are named.
    """
    best: defaultdict[str, dict[Value, float]] = defaultdict(dict)
    for evaluation in evaluations:
        if evaluation.timing is not None:
            for name, value in evaluation.configuration.items():
                best[name][value] = min(evaluation.timing.median, best[name].get(value, math.inf))
    return {name: max(times.values()) / min(times.values()) for name, times in best.items() if len(times) > 1}


def to_freeze(
    candidate: Candidate,
    best: Configuration,
    evaluations: Sequence[Evaluation],
    most_configurations: int,
    delta: float = 0.02,
    *,
    sizes: Mapping[str, int],
    max_threads: int | None,
    members: Collection[Configuration] | None = None,
) -> Configuration:
    """The tunables that need not be searched further, with the value they are frozen at.

    First those that are known not to matter; then, until the space is small enough, the one that matters least
    of the others, those of which nothing is known last.

    Args:
        best: the fastest configuration known, which gives the values.
        evaluations: what is known, of this candidate and others with the same tunables.
        most_configurations: so many valid configurations may be left to search.
        delta: a spread below 1 + delta does not matter.
        sizes: the problem's sizes; restrictions may name them.
        max_threads: threads that a block may have on the device.
        members: the only configurations that there are.

    Raises:
        ExpressionError: a restriction is not allowed or names what is not known.
    """
    spread = spreads(evaluations)
    known = _well_known(evaluations)
    free = [name for name, values in candidate.tunables.items() if len(values) > 1 and _offers(candidate, name, best)]
    frozen = {name: best[name] for name in free if name in known and spread.get(name, math.inf) < 1 + delta}
    others = sorted((name for name in free if name not in frozen), key=lambda name: spread.get(name, math.inf))
    for name in others:
        space = _with_values(candidate, frozen).space(sizes=sizes, max_threads=max_threads, members=members)
        if len(space.enumerate_valid(most_configurations + 1)) <= most_configurations:
            break
        frozen[name] = best[name]
    return frozen


def freeze(
    candidate: Candidate,
    frozen: Configuration,
    *,
    sizes: Mapping[str, int],
    max_threads: int | None,
    members: Collection[Configuration] | None = None,
) -> Candidate:
    """The candidate with these tunables at one value each, and a default configuration that is valid.

    A name that the candidate does not have, or not with this value, changes nothing; nor do values that
    would leave no valid configuration.

    Raises:
        ExpressionError: a restriction is not allowed or names what is not known.
    """
    offered = {name: value for name, value in frozen.items() if _offers(candidate, name, frozen)}
    narrowed = _with_values(candidate, offered)
    space = narrowed.space(sizes=sizes, max_threads=max_threads, members=members)
    if not offered or space.is_empty:
        return candidate
    if space.contains(narrowed.default_configuration):
        return narrowed
    return narrowed.model_copy(update={"defaults": _near_default(narrowed, sizes, max_threads, members)})


def _well_known(evaluations: Sequence[Evaluation]) -> set[str]:
    """The tunables of which enough values were timed often enough."""
    timed = Counter(item for e in evaluations if e.timing is not None for item in e.configuration.items())
    values = Counter(name for (name, _), times in timed.items() if times >= LEAST_EVALUATIONS)
    return {name for name, count in values.items() if count >= LEAST_VALUES}


def _offers(candidate: Candidate, name: str, values: Configuration) -> bool:
    """Whether the candidate has a tunable of this name with this very value."""
    wanted = values.get(name)
    return any(type(value) is type(wanted) and value == wanted for value in candidate.tunables.get(name, []))


def _with_values(candidate: Candidate, frozen: Configuration) -> Candidate:
    tunables = {name: [frozen[name]] if name in frozen else values for name, values in candidate.tunables.items()}
    return candidate.model_copy(update={"tunables": tunables, "defaults": {**candidate.defaults, **frozen}})


def _near_default(
    candidate: Candidate,
    sizes: Mapping[str, int],
    max_threads: int | None,
    members: Collection[Configuration] | None,
) -> Configuration:
    """The first valid configuration where the default of each tunable is the first value to be tried."""
    default = candidate.default_configuration
    tunables = {name: _beginning_with(default[name], values) for name, values in candidate.tunables.items()}
    ordered = candidate.model_copy(update={"tunables": tunables})
    return ordered.space(sizes=sizes, max_threads=max_threads, members=members).enumerate_valid(1)[0]


def _beginning_with(first: Value, values: list[Value]) -> list[Value]:
    return [value for value in values if value == first] + [value for value in values if value != first]
