"""What measured configurations say about the values of the tunables, and where nothing was tried."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.model import Configuration, Value

BEST = 8
"""So many of the fastest are looked at for what they share."""
_MOST_PAIRS = 16
_NEAR = 1.5
"""A value is good if some configuration with it takes at most so many times as long as the best."""


def value_facts(evaluations: Sequence[Evaluation], tunables: Mapping[str, Sequence[Value]]) -> str:
    """For each tunable and value the best time, ms, and how often it was timed; and the values never tried."""
    return "\n".join(_line(name, values, evaluations) for name, values in tunables.items())


def shared_facts(evaluations: Sequence[Evaluation], tunables: Mapping[str, Sequence[Value]]) -> str:
    """The values that all of the fastest have."""
    best = _fastest(evaluations)[:BEST]
    if len(best) < BEST:
        return "too few are measured"
    shared = [name for name in tunables if len({configuration[name] for configuration in best}) == 1]
    if not shared:
        return "none"
    return ", ".join(f"{name}={best[0][name]}" for name in shared)


def untried_facts(evaluations: Sequence[Evaluation], tunables: Mapping[str, Sequence[Value]]) -> str:
    """Pairs of values never measured together though each was good, of the tunables that matter most."""
    effects = {name: _spread(name, evaluations) for name in tunables}
    ranked = sorted((name for name in tunables if effects[name] > 1), key=lambda name: -effects[name])
    pairs = (pair for one, other in combinations(ranked[:3], 2) for pair in _untried(one, other, evaluations, tunables))
    shown = [text for text, _ in zip(pairs, range(_MOST_PAIRS), strict=False)]
    return "; ".join(shown) or "none among the tunables that matter most"


def _line(name: str, values: Sequence[Value], evaluations: Sequence[Evaluation]) -> str:
    best, count = _by_value(name, evaluations)
    known = [f"{value}: {best[value]:.4g} ({count[value]})" for value in values if value in best]
    untried = [str(value) for value in values if value not in best]
    parts = [", ".join(known)] if known else []
    return f"{name}: " + "; ".join([*parts, f"never right or never tried: {', '.join(untried)}"] if untried else parts)


def _by_value(name: str, evaluations: Sequence[Evaluation]) -> tuple[dict[Value, float], dict[Value, int]]:
    best: defaultdict[Value, float] = defaultdict(lambda: math.inf)
    count: defaultdict[Value, int] = defaultdict(int)
    for evaluation in evaluations:
        if evaluation.timing is not None:
            value = evaluation.configuration[name]
            best[value] = min(best[value], evaluation.timing.median)
            count[value] += 1
    return dict(best), dict(count)


def _spread(name: str, evaluations: Sequence[Evaluation]) -> float:
    """The best time of the worst value over that of the best one; 1 where nothing tells."""
    best, _ = _by_value(name, evaluations)
    return max(best.values()) / min(best.values()) if best else 1.0


def _untried(
    one: str, other: str, evaluations: Sequence[Evaluation], tunables: Mapping[str, Sequence[Value]]
) -> Iterator[str]:
    good = {name: _good(name, evaluations) for name in (one, other)}
    tried = {(evaluation.configuration[one], evaluation.configuration[other]) for evaluation in evaluations}
    for first in [value for value in tunables[one] if value in good[one]]:
        for second in [value for value in tunables[other] if value in good[other]]:
            if (first, second) not in tried:
                yield f"{one}={first} with {other}={second}"


def _good(name: str, evaluations: Sequence[Evaluation]) -> set[Value]:
    """The values with which some configuration came near the best."""
    best, _ = _by_value(name, evaluations)
    return {value for value, time in best.items() if time <= _NEAR * min(best.values())}


def _fastest(evaluations: Sequence[Evaluation]) -> list[Configuration]:
    timed = [(e.timing.median, e.configuration) for e in evaluations if e.timing is not None]
    return [configuration for _, configuration in sorted(timed, key=lambda pair: pair[0])]
