"""Measured configurations for a model: a table, fastest first, the failures, and what the values say."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise

from tui_tuner.evaluate.measure import fastest_first
from tui_tuner.evaluate.profiling.occupancy import Occupancy, Waves
from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.format import count, share
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact_key

BEST = 8
"""So many of the fastest are looked at for what they share."""
_MOST_PAIRS = 12
_NEAR = 1.15
"""A value is good if some configuration with it takes at most so many times as long as the best."""
_AGREED = 1.1
"""The largest ratio of a change over its least, up to which pairs are said to agree."""
_RANKED = 3
"""So many tunables that matter most are looked at for good values that never met, besides the switches."""


def effect_facts(evaluations: Sequence[Evaluation], tunables: Mapping[str, Sequence[Value]]) -> str:
    """For each tunable what it did alone: times over those of the same configurations with the value before.

    The best time of each value would mix its effect with that of everything else that differs between the two. How far
    pairs disagree, which a mean hides, is told beside it.
    """
    return "\n".join(_effects(name, values, evaluations) for name, values in tunables.items())


def effect_elsewhere(best: Configuration, other: Configuration, evaluations: Sequence[Evaluation]) -> float | None:
    """What the change from one configuration to another did where the rest was different; None where nobody tried.

    Args:
        other: differs in one tunable.
    """
    name = next(name for name, value in other.items() if value != best[name])
    pairs = [times for times in _alike(name, evaluations) if best[name] in times and other[name] in times]
    return _geometric_mean([times[other[name]] / times[best[name]] for times in pairs]) if pairs else None


def promising(
    best: Configuration, new: Sequence[Configuration], evaluations: Sequence[Evaluation]
) -> list[Configuration]:
    """Configurations that differ from the best in one tunable, those first whose change was of use elsewhere.

    Behind them come those whose change nobody tried, then those whose change made others slower.
    """
    return sorted(new, key=lambda one: effect_elsewhere(best, one, evaluations) or 1.0)


def shared_facts(evaluations: Sequence[Evaluation], tunables: Mapping[str, Sequence[Value]]) -> str:
    """The values that all of the fastest have; empty where there are none or too few are measured."""
    best = _fastest(evaluations)[:BEST]
    if len(best) < BEST:
        return ""
    shared = [name for name in tunables if len({configuration[name] for configuration in best}) == 1]
    return ", ".join(f"{name}={best[0][name]}" for name in shared)


def untried_facts(evaluations: Sequence[Evaluation], space: SearchSpace) -> str:
    """Pairs of values never measured together though each was good and both can be had; empty if there are none.

    Of the tunables that matter most, and of the switches.
    """
    free = {name: values for name, values in space.tunables.items() if len(values) > 1}
    effects = {name: _spread(name, evaluations) for name in free}
    ranked = sorted((name for name in free if effects[name] > 1), key=lambda name: -effects[name])[:_RANKED]
    looked_at = [*ranked, *(name for name, values in free.items() if len(values) == 2 and name not in ranked)]
    pairs = (pair for one, other in combinations(looked_at, 2) for pair in _untried(one, other, evaluations, free))
    possible = (pair for pair in pairs if space.allows(pair))
    return "; ".join(" with ".join(f"{n}={v}" for n, v in pair.items()) for pair in islice(possible, _MOST_PAIRS))


def uncompared_facts(evaluations: Sequence[Evaluation], space: SearchSpace) -> str:
    """The switches whose effect is known with one position of another switch alone; empty where there are none."""
    switches = {name: values for name, values in space.tunables.items() if len(values) == 2}
    told = [
        f"{name} with {other}={position}"
        for name, values in switches.items()
        for other in switches
        if other != name and (seen := _compared_with(name, other, evaluations))
        for position in switches[other]
        if position not in seen and all(space.allows({name: value, other: position}) for value in values)
    ]
    return "; ".join(told[:_MOST_PAIRS])


def _compared_with(name: str, other: str, evaluations: Sequence[Evaluation]) -> set[Value]:
    """The values of one tunable that pairs have which differ in another tunable alone."""
    return {
        value
        for value in {e.configuration[other] for e in evaluations}
        for times in _alike(name, [e for e in evaluations if e.configuration[other] == value])
        if len(times) > 1
    }


def _effects(name: str, values: Sequence[Value], evaluations: Sequence[Evaluation]) -> str:
    ratios = _paired(name, values, evaluations)
    known = [
        f"{one} to {other}: {_geometric_mean(found):.3g} ({_of_pairs(found)})" for (one, other), found in ratios.items()
    ]
    timed = _best_by_value(name, evaluations)
    untried = [str(value) for value in values if value not in timed]
    parts = [", ".join(known) or "no two measured differ in it alone"]
    return f"{name}: " + "; ".join(
        [*parts, *([f"never right or never tried: {', '.join(untried)}"] if untried else [])]
    )


def _of_pairs(ratios: Sequence[float]) -> str:
    """How many they are, and from where to where they go if they disagree."""
    least, most = min(ratios), max(ratios)
    return f"{len(ratios)}: {least:.3g} to {most:.3g}" if most > _AGREED * least else str(len(ratios))


def _paired(
    name: str, values: Sequence[Value], evaluations: Sequence[Evaluation]
) -> dict[tuple[Value, Value], list[float]]:
    """Ratios of the times of configurations that differ in one tunable alone, between one value and the next timed."""
    ratios: defaultdict[tuple[Value, Value], list[float]] = defaultdict(list)
    for times in _alike(name, evaluations):
        for one, other in pairwise(value for value in values if value in times):
            ratios[one, other].append(times[other] / times[one])
    places = {value: place for place, value in enumerate(values)}
    return dict(sorted(ratios.items(), key=lambda pair: (places[pair[0][0]], places[pair[0][1]])))


def _alike(name: str, evaluations: Sequence[Evaluation]) -> Collection[Mapping[Value, float]]:
    """For each group of configurations that differ in one tunable alone, the time of each of its values."""
    alike: defaultdict[object, dict[Value, float]] = defaultdict(dict)
    for evaluation in evaluations:
        if evaluation.ms is not None:
            rest = {other: value for other, value in evaluation.configuration.items() if other != name}
            alike[exact_key(rest)][evaluation.configuration[name]] = evaluation.ms
    return alike.values()


def _geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _best_by_value(name: str, evaluations: Sequence[Evaluation]) -> dict[Value, float]:
    best: defaultdict[Value, float] = defaultdict(lambda: math.inf)
    for evaluation in evaluations:
        if evaluation.ms is not None:
            value = evaluation.configuration[name]
            best[value] = min(best[value], evaluation.ms)
    return dict(best)


def _spread(name: str, evaluations: Sequence[Evaluation]) -> float:
    """The best time of the worst value over that of the best one; 1 where nothing tells."""
    best = _best_by_value(name, evaluations)
    return max(best.values()) / min(best.values()) if best else 1.0


def _untried(
    one: str, other: str, evaluations: Sequence[Evaluation], tunables: Mapping[str, Sequence[Value]]
) -> Iterator[Configuration]:
    good = {name: _good(name, evaluations) for name in (one, other)}
    tried = {(evaluation.configuration[one], evaluation.configuration[other]) for evaluation in evaluations}
    for first in [value for value in tunables[one] if value in good[one]]:
        for second in [value for value in tunables[other] if value in good[other]]:
            if (first, second) not in tried:
                yield {one: first, other: second}


def _good(name: str, evaluations: Sequence[Evaluation]) -> set[Value]:
    """The values with which some configuration came near the best."""
    best = _best_by_value(name, evaluations)
    return {value for value, time in best.items() if time <= _NEAR * min(best.values())}


def _fastest(evaluations: Sequence[Evaluation]) -> list[Configuration]:
    return [evaluation.configuration for evaluation in fastest_first(evaluations)]


_EXAMPLES = 3


@dataclass(frozen=True)
class RankedEvaluation:
    """An evaluation and what is known about it besides.

    Attributes:
        round: the round that proposed it, 0 for those measured before the first.
        occupancy: how many blocks and warps a multiprocessor holds at a time; None if unknown.
        waves: how the grid fills the device; None if unknown.
    """

    evaluation: Evaluation
    round: int
    occupancy: Occupancy | None = None
    waves: Waves | None = None

    @property
    def milliseconds(self) -> float:
        """Its time, infinite if it failed."""
        return float("inf") if self.evaluation.ms is None else self.evaluation.ms


def ranking(measured: Sequence[RankedEvaluation], names: Sequence[str], most: int) -> str:
    """The fastest as comma-separated values, with a line on what is left out.

    Args:
        names: the tunables that have a column.
        most: rows at most.
    """
    timed = sorted((one for one in measured if one.evaluation.timing is not None), key=lambda one: one.milliseconds)
    if not timed:
        return "nothing that was measured is right yet"
    extra = [column for column in _COLUMNS if any(_COLUMNS[column](one) for one in timed)]
    lines = [",".join(["rank", "ms", "round", *names, *extra])]
    for rank, one in enumerate(timed[:most], start=1):
        values = [_word(one.evaluation.configuration[name]) for name in names]
        facts = [_COLUMNS[column](one) for column in extra]
        lines.append(",".join([str(rank), f"{one.milliseconds:.4g}", str(one.round), *values, *facts]))
    if len(timed) > most:
        slowest = timed[-1].milliseconds / timed[0].milliseconds
        lines.append(f"({len(timed) - most} slower ones left out, the slowest {slowest:.3g} times as slow as the best)")
    return "\n".join(lines)


def failures(measured: Sequence[RankedEvaluation], names: Sequence[str]) -> str:
    """What failed, a line a reason: how many, what they have that nothing right has, and examples."""
    groups: defaultdict[str, list[Configuration]] = defaultdict(list)
    for one in measured:
        failure = one.evaluation.failure
        if failure is not None:
            reason = failure.in_words if failure.message else str(failure.kind)
            groups[reason].append(one.evaluation.configuration)
    right = [one.evaluation.configuration for one in measured if one.evaluation.timing is not None]
    return "\n".join(f"{reason} ({len(some)}): {_described(some, right, names)}" for reason, some in groups.items())


def column_facts(measured: Sequence[RankedEvaluation]) -> str:
    """What the columns of the ranking mean that are not obvious; empty where it has none of them."""
    timed = [one for one in measured if one.evaluation.timing is not None]
    return "".join(f"; {_MEANT[column]}" for column in _MEANT if any(_COLUMNS[column](one) for one in timed))


def noise(measured: Sequence[RankedEvaluation]) -> str:
    """How exact the times are: half of the 95 % interval in the middle of them."""
    widths = [_half_width(one.evaluation.timing) for one in measured if one.evaluation.timing is not None]
    if not widths:
        return "unknown"
    return f"half the 95 % interval of a time is {statistics.median(widths):.2%} of it in the middle"


def _half_width(timing: Timing) -> float:
    return (timing.high - timing.low) / 2 / timing.median


def _described(configurations: Sequence[Configuration], right: Sequence[Configuration], names: Sequence[str]) -> str:
    shown = "; ".join(_plain(configuration, names) for configuration in configurations[:_EXAMPLES])
    shared = _never_right(dict(_shared(configurations, names)), right) if len(configurations) > 1 else []
    if not shared:
        return shown
    told = ", or ".join(_plain(one, list(one)) for one in shared)
    return f"all have {told}, which nothing right has; as in {shown}"


def _never_right(shared: Configuration, right: Sequence[Configuration]) -> list[Configuration]:
    """The values, else the pairs of them, that no configuration that is right has."""
    for together in (1, 2):
        some = [dict(items) for items in combinations(shared.items(), together)]
        found = [one for one in some if not any(all(c[name] == v for name, v in one.items()) for c in right)]
        if found and right:
            return found[:_EXAMPLES]
    return []


def _shared(configurations: Sequence[Configuration], names: Sequence[str]) -> Iterator[tuple[str, Value]]:
    for name in names:
        values = {configuration[name] for configuration in configurations}
        if len(values) == 1:
            yield name, values.pop()


def _plain(configuration: Mapping[str, Value], names: Sequence[str]) -> str:
    return " ".join(f"{name}={_word(configuration[name])}" for name in names)


def _word(value: Value) -> str:
    """A value as a cell; text with a comma in it is quoted."""
    text = str(value)
    return f'"{text}"' if "," in text else text


def _registers(one: RankedEvaluation) -> str:
    return count(one.evaluation.resources.registers)


def _spilled(one: RankedEvaluation) -> str:
    return count(one.evaluation.resources.spill_bytes)


def _shared_bytes(one: RankedEvaluation) -> str:
    return count(one.evaluation.resources.shared_bytes)


def _occupancy(one: RankedEvaluation) -> str:
    return "" if one.occupancy is None else f"{one.occupancy.fraction:.0%} by {'+'.join(one.occupancy.limiters)}"


def _waves(one: RankedEvaluation) -> str:
    return "" if one.waves is None else f"{one.waves.blocks / one.waves.resident:.3g}"


def _share(one: RankedEvaluation) -> str:
    return share(one.evaluation.share)


_COLUMNS = {
    "registers": _registers,
    "spilled_bytes": _spilled,
    "shared_bytes": _shared_bytes,
    "occupancy": _occupancy,
    "waves": _waves,
    "of_roofline": _share,
}
"""What is known of a configuration besides its time; a column appears where a row has something in it."""
_MEANT = {
    "occupancy": "occupancy is the share of the warps that a multiprocessor can hold, with what limits it",
    "waves": "waves is how often the grid fills the device",
}
