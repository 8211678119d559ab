"""The last runs, in which the first winners and the best are measured again, and the metrics of a session.

The metrics are those of the published LLM-guided configuration generator for Tensile: performance retention
PR = best GFLOP/s of the edited space / best of the space as given; tuning-time reduction TR = (T0 - (T1 + L)) / T0
with T0 the time of the space as given, T1 that of the edited one and L the model's own time; winner consistency
WC = share of runs with the same winner. `docs/tensile.md` says how a session measures each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import yaml
from pydantic import BaseModel, ConfigDict

from tui_tuner.strategies.base import BudgetSpent
from tui_tuner.strategies.steps import StepState
from tui_tuner.tensile.document import (
    Alternative,
    BenchmarkConfiguration,
    ParameterValue,
    ProblemSizes,
    SizeGroup,
    same,
    value_text,
)
from tui_tuner.tensile.document.edits import alternative_text
from tui_tuner.tensile.document.reading import COMMON, FORK, GROUPS, group_nodes, parse_configuration
from tui_tuner.tensile.document.yaml_text import (
    Immovable,
    Splice,
    child,
    compose,
    end,
    items,
    newline,
    pairs,
    spliced,
    start,
)
from tui_tuner.tensile.effects import TensileEffects
from tui_tuner.tensile.history import HeldSolution, History, place_text
from tui_tuner.tensile.outcome import FINALS, ParameterValues, RoundOutcome, SizeKey, geometric_mean


class Metrics(BaseModel):
    """The metrics of one session.

    Attributes:
        retention: of each problem size that both runs have, by its text; the final runs where there are any.
        retention_mean: geometric mean over the sizes.
        consistency: share of the final runs, and of the sizes in each, in which the best so far won; None without.
        given_seconds: T0, the run of the configuration as given; None where it was not measured.
        edited_seconds: T1 of the last edited configuration alone: what the space costs from now on.
        session_seconds: T1 of all runs of edited configurations in this session.
        model_seconds: L.
        reduction: TR with T1 of the last edited configuration.
        reduction_of_session: TR with T1 of all of them.
    """

    model_config = ConfigDict(frozen=True)

    retention: dict[str, float] = {}
    retention_mean: float | None = None
    consistency: float | None = None
    given_seconds: float | None = None
    edited_seconds: float | None = None
    session_seconds: float | None = None
    model_seconds: float
    reduction: float | None = None
    reduction_of_session: float | None = None


def tuning_time_reduction(given: float, edited: float, model: float) -> float:
    """TR: the share of the time T0 that is saved, the model's own time counted; negative where it costs more."""
    return (given - (edited + model)) / given


def metrics(history: History, finals: Sequence[RoundOutcome]) -> Metrics:
    """The metrics of a session.

    Args:
        finals: the runs in which the first winners and the best were compared; may be empty.
    """
    given = next((one for one in history.successes if one.number == 0), None)
    edited = [one for one in history.successes if one.number > 0]
    retention = _retention(history, finals)
    first_seconds = None if given is None else given.outcome.seconds
    last_seconds = edited[-1].outcome.seconds if edited else None
    all_seconds = sum(one.outcome.seconds for one in history.rounds if one.number > 0) if edited else None
    return Metrics(
        retention={text: round(share, 4) for text, share in retention.items()},
        retention_mean=geometric_mean(retention.values()),
        consistency=consistency(history, finals),
        given_seconds=first_seconds,
        edited_seconds=last_seconds,
        session_seconds=all_seconds,
        model_seconds=round(history.model_seconds, 3),
        reduction=_reduction(first_seconds, last_seconds, history.model_seconds),
        reduction_of_session=_reduction(first_seconds, all_seconds, history.model_seconds),
    )


def _reduction(given: float | None, edited: float | None, model: float) -> float | None:
    return None if not given or edited is None else tuning_time_reduction(given, edited, model)


def _retention(history: History, finals: Sequence[RoundOutcome]) -> dict[str, float]:
    """Best of the edited space over best of the first one, at every size."""
    found: dict[str, float] = {}
    for place, winner in history.winners.items():
        share = compared(history, finals, place) if finals else winner.gain
        if share is not None:
            found[place_text(place)] = share
    return found


def compared(history: History, finals: Sequence[RoundOutcome], place: SizeKey) -> float | None:
    """Speed of the best over the first run's winner at a size: the median over the runs of the ratio within each."""
    ratios = [ratio for run in finals if (ratio := ratio_in(history, run, place)) is not None]
    return median(ratios) if ratios else None


def ratio_in(history: History, run: RoundOutcome, place: SizeKey) -> float | None:
    """Speed of the best over the first run's winner at a size in one run; None where one of them has none."""
    size = next((size for size in run.sizes if size.place == place), None)
    if size is None or place not in history.starts:
        return None
    best = history.speed_of(size, history.held[place])
    start = history.speed_of(size, history.starts[place])
    return None if best is None or start is None else best / start


def consistency(history: History, finals: Sequence[RoundOutcome]) -> float | None:
    """WC: how often, over runs and sizes, the best so far won again; None without runs."""
    won = [
        history.is_same(size.ranked[0], history.held[size.place])
        for run in finals
        for size in run.sizes
        if size.ranked and size.place in history.held
    ]
    return sum(won) / len(won) if won else None


@dataclass(frozen=True)
class Finals:
    """What the final runs said.

    Attributes:
        winners: a configuration with nothing but the best of every size; None where it cannot be written.
        gains: of each run, the mean over all sizes of best over first winner.
    """

    winners: BenchmarkConfiguration | None = None
    runs: list[RoundOutcome] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)

    @property
    def speedup(self) -> tuple[float, float, float] | None:
        """The median speed-up of the final runs, the lowest and the highest; None where there were none."""
        return (median(self.gains), min(self.gains), max(self.gains)) if self.gains else None


async def run_finals(session: TensileEffects, history: History) -> Finals:
    """Measure the first run's winners and today's best again, so that no gain is the luck of one run."""
    if history.first is None:
        return Finals()
    winners = _written(session, history, [history.held])
    improved = any(held.values != history.starts.get(place, held).values for place, held in history.held.items())
    both = _written(session, history, [history.starts, history.held]) if improved else None
    if both is None or not session.options.repeats:
        return Finals(winners)
    step = session.add_step("Compare the first winners and the best again")
    step = session.update_step(step.now(StepState.RUNNING))
    runs: list[RoundOutcome] = []
    try:
        for number in range(session.options.repeats):
            outcome = await session.benchmark(FINALS + number, both)
            if outcome.failure is not None:
                session.note(f"a run of the finalists failed: {outcome.failure.message}", warning=True)
                continue
            runs.append(outcome)
    except BudgetSpent as spent:
        session.note(str(spent))
    gains = [gain for run in runs if (gain := _gain(history, run)) is not None]
    finals = Finals(winners, runs, gains)
    state = StepState.DONE if gains else StepState.SKIPPED
    session.update_step(step.now(state, factor=finals.speedup, reason="" if gains else "no run gave results"))
    return finals


def _gain(history: History, run: RoundOutcome) -> float | None:
    ratios = (ratio_in(history, run, place) for place in history.winners)
    return geometric_mean(ratio for ratio in ratios if ratio is not None)


def _written(
    session: TensileEffects, history: History, chosen: Sequence[Mapping[SizeKey, HeldSolution]]
) -> BenchmarkConfiguration | None:
    """The configuration in force with these solutions only, each once; None where that cannot be written."""
    wanted: dict[int, list[ParameterValues]] = {}
    for (group, _), held in (pair for solutions in chosen for pair in solutions.items()):
        known = wanted.setdefault(group, [])
        if held.values not in known:
            known.append(held.values)
    try:
        return only(history.current, wanted, session.sizes)
    except Immovable as error:
        session.note(f"the best solutions cannot be written as a configuration of their own: {error}", warning=True)
        return None


def only(
    configuration: BenchmarkConfiguration,
    chosen: Mapping[int, Sequence[Alternative]],
    sizes: ProblemSizes | None = None,
) -> BenchmarkConfiguration:
    """The configuration with these permutations in place of its forks; sizes and all else stay.

    Args:
        chosen: for each size group all that each solution is to have, what is constant included; of a group without
            an entry its first permutation. A parameter that a solution does not name has its default there.
        sizes: those of a file of their own, as the alternate format has it.

    Raises:
        Immovable: the file is written in a way that does not allow it.
    """
    root = compose(configuration.text, configuration.file)
    text, ending = configuration.text, newline(configuration.text)
    splices = [
        _section(group, node, chosen.get(group.number) or [_first(group)], ending)
        for group, (_, _, _, node) in zip(configuration.size_groups, group_nodes(root), strict=True)
    ]
    for splice in sorted(splices, reverse=True):
        text = spliced(text, splice)
    reduced = parse_configuration(text, configuration.file, sizes)
    for group in reduced.size_groups:
        if not _has_just(group, chosen.get(group.number) or [_first(configuration.size_groups[group.number])]):
            raise Immovable("the chosen permutations cannot be written into it")
    return reduced


def _has_just(group: SizeGroup, chosen: Sequence[Alternative]) -> bool:
    alternatives: Sequence[Alternative] = group.groups[0] if group.groups else [{}]
    if group.permutations != len(chosen):
        return False
    formed = [{**group.constants, **alternative} for alternative in alternatives]
    return all(
        all(name in one and same(one[name], value) for name, value in wanted.items())
        for one, wanted in zip(formed, chosen, strict=True)
    )


def _first(group: SizeGroup) -> Alternative:
    return {
        **group.constants,
        **{name: values[0] for name, values in group.forked.items()},
        **{name: value for alternatives in group.groups for name, value in alternatives[0].items()},
    }


def _section(group: SizeGroup, node: yaml.Node, chosen: Sequence[Alternative], ending: str) -> Splice:
    """The text with a new `ForkParameters`, in place of the old one or at the end of the size group."""
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise Immovable("the size group stands on one line")
    common = _common(group, node)
    if any(name in group.forked for name in common):
        raise Immovable(f"{COMMON} forks a parameter")
    column = int(node.value[0][0].start_mark.column)
    constants = _shared(chosen)
    indent = " " * (column + 2)
    lines = [
        f"{indent}- {name}: [{value_text(value)}]"
        for name, value in constants.items()
        if not (name in common and same(common[name], value))
    ]
    if len(chosen) > 1:
        lines += [f"{indent}- {GROUPS}:", *_alternatives(chosen, constants, indent)]
    return _placed(node, f"{FORK}:{ending}{ending.join(lines)}", f"{ending}{' ' * column}")


def _placed(node: yaml.MappingNode, body: str, before: str) -> Splice:
    found = next(((key, value) for key, value in pairs(node) if key.value == FORK), None)
    if found is None:
        return end(node), end(node), f"{before}{body}"
    key, value = found
    return start(key), max(end(value), end(key) + 1), body


def _shared(chosen: Sequence[Alternative]) -> Alternative:
    """What all solutions have in common."""
    first, *others = chosen
    return {
        name: value
        for name, value in first.items()
        if all(name in other and same(other[name], value) for other in others)
    }


def _alternatives(chosen: Sequence[Alternative], constants: Alternative, indent: str) -> list[str]:
    texts = [
        alternative_text({name: value for name, value in alternative.items() if name not in constants})
        for alternative in chosen
    ]
    return [f"{indent}  {'- -' if number == 0 else '  -'} {text}" for number, text in enumerate(texts)]


def _common(group: SizeGroup, node: yaml.Node) -> dict[str, ParameterValue]:
    """The first value of each common parameter, which stays where it is."""
    entries = items(child(node, COMMON))
    names = [key.value for entry in entries for key, _ in pairs(entry)]
    return {name: group.parameters[name][0] for name in names if group.parameters.get(name)}
