"""Searching the tunables of one candidate, and freezing those that no longer matter at their best value.

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
from dataclasses import replace
from typing import Any, TypedDict

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search import DEFAULT_METHOD, SURROGATE, Methods, methods_of
from tui_tuner.search.client import SearchClient
from tui_tuner.strategies.base import BudgetSpent, Effects
from tui_tuner.strategies.history import Outcome, best_of, best_of_finalists
from tui_tuner.strategies.portfolio import Portfolio
from tui_tuner.strategies.rounds import Rounds
from tui_tuner.strategies.steps import Step, StepState


class SpaceLimits(TypedDict):
    """What bounds the space of a candidate besides its own restrictions."""

    sizes: Mapping[str, int]
    max_threads: int | None
    members: Collection[Configuration] | None


def limits_of(session: Effects) -> SpaceLimits:
    """What the problem and the device of a session allow."""
    return {
        "sizes": session.problem.sizes,
        "max_threads": session.bench.device.max_threads_per_block,
        "members": session.bench.members,
    }


def narrowed(session: Effects, candidate: Candidate) -> Candidate:
    """A candidate as it is searched: with the tunables that the session has frozen at one value."""
    return freeze(candidate, session.frozen, **limits_of(session))


def space_of(session: Effects, candidate: Candidate) -> SearchSpace:
    """The valid configurations of a candidate on the session's device."""
    return candidate.space(**limits_of(session))


async def search_parameters(
    session: Effects,
    candidate: Candidate,
    max_evaluations: int,
    methods: Methods | None = None,
    *,
    again: bool = False,
    step: Step | None = None,
) -> Evaluation | None:
    """Search a candidate's space and return the best evaluation known of it, None if none is valid.

    A budget that runs out on the way ends the search, not the strategy.

    Args:
        methods: how to search; None for the method that the user named, or the default.
        again: whether it was searched before, so that other configurations are to be proposed.
        step: the step that is about this search; a model's rounds get a line each behind it.

    Raises:
        ModelFailed: a model was to choose, it gave nothing, and the fallback is `error`.
    """
    methods = methods or methods_of(session.options.search or DEFAULT_METHOD)
    most = min(max_evaluations, session.budget.evaluations_left)
    if most < 1:
        return best_of(session.bench.evaluations_of(candidate))
    size = space_of(session, narrowed(session, candidate)).size
    if size <= most:  # all of it is measured: there is nothing to choose
        if methods.rounds:
            session.note(f"no model is asked which configurations to measure: the budget has room for all {size}")
        methods = Methods(rounds=False, local=methods.local or DEFAULT_METHOD)
    try:
        await _search(session, candidate, most, methods, again=again, step=step)
    except BudgetSpent as spent:
        session.note(f"search ends: {spent}")
    if methods.rounds:
        return await best_of_finalists(session, candidate)
    return best_of(session.bench.evaluations_of(candidate))


MOST_OFFERED = 6
"""Configurations that a search without a model begins with besides the default one, of those that it is offered."""


async def _search(
    session: Effects, candidate: Candidate, most: int, methods: Methods, *, again: bool, step: Step | None
) -> None:
    """Spend so many evaluations, and those that the user adds meanwhile."""
    raised = session.budget.raised
    search = _search_together if methods.rounds and methods.local == SURROGATE else _search_in_turn
    await search(session, candidate, most, methods, again=again, step=step)
    while methods.local and (added := session.budget.raised - raised) > 0:
        raised += added
        await _search_locally(session, candidate, added, methods, again=True)


async def _search_together(
    session: Effects, candidate: Candidate, most: int, methods: Methods, *, again: bool, step: Step | None
) -> None:
    """Let a model and the surrogate share the evaluations."""
    search, content = _local_search(session, candidate, most, methods, again=again)
    found = await session.recollect(candidate)
    portfolio = Portfolio(session, candidate, narrowed(session, candidate), search.space, most, found, step)
    async with session.proposals(search, {**content, "shared": True}) as batches:
        reason = await portfolio.run_with(batches)
    session.note(f"the search with the model ends: {reason}")


async def _search_in_turn(
    session: Effects, candidate: Candidate, most: int, methods: Methods, *, again: bool, step: Step | None
) -> None:
    """Let the model choose with its share of the evaluations, if at all, and then a search with what is left."""
    local = methods.local or DEFAULT_METHOD
    if methods.rounds:
        share = most if methods.local is None else most - int(most * session.options.rounds.local_share)
        left, searched = session.budget.evaluations_left, narrowed(session, candidate)
        found, space = await session.recollect(candidate), space_of(session, searched)
        rounds = Rounds(session, candidate, searched, space, share, found, step)
        session.note(f"the model's rounds end: {await rounds.run()}")
        if rounds.target_met:
            return
        await rounds.finish()
        most -= left - session.budget.evaluations_left
    if most > 0:
        await _search_locally(session, candidate, most, replace(methods, local=local), again=again)


async def _search_locally(session: Effects, candidate: Candidate, most: int, methods: Methods, *, again: bool) -> None:
    """Search without the model, after its rounds or alone."""
    offered = [] if methods.rounds or again else await _offered(session, candidate, methods.local or DEFAULT_METHOD)
    search, content = _local_search(session, candidate, most, methods, again=again, offered=offered)
    search.overlaps = session.bench.members is None  # what is recorded does not have to be built
    async with session.proposals(search, content) as batches:
        try:
            async for batch in batches:
                found = await session.evaluate(candidate, batch, batches.unfinished)
                if len(found) == len(batch):
                    await batches.tell([evaluation.ms for evaluation in found])
                else:
                    await batches.tell([], [(evaluation.configuration, evaluation.ms) for evaluation in found])
        finally:
            await session.bench.cancel_speculation()


async def _offered(session: Effects, candidate: Candidate, method: str) -> list[Configuration]:
    """What the problem and the memory offer for the kernel as given, where a search without a model makes use of it."""
    if method != SURROGATE or candidate.id != session.baseline.id:
        return []
    return [*session.problem.search.seeds, *(await session.recollect(candidate)).seeds][:MOST_OFFERED]


def _local_search(
    session: Effects,
    candidate: Candidate,
    most: int,
    methods: Methods,
    *,
    again: bool,
    offered: Sequence[Configuration] = (),
) -> tuple[SearchClient, dict[str, Any]]:
    """A search that knows what was measured, and all that determines it."""
    method, seed, devices = methods.local or DEFAULT_METHOD, session.seed + again, session.bench.devices
    searched = narrowed(session, candidate)
    space, start = space_of(session, searched), searched.default_configuration
    measured = session.bench.evaluations_of(candidate)
    known: list[tuple[Configuration, float | None]] = []
    if methods.rounds or method == SURROGATE:
        known = [(e.configuration, e.ms) for e in measured if space.contains(e.configuration)]
    elif again:
        most += len(measured)  # what it proposes of these costs nothing
    elif any(e.configuration == start for e in measured):
        most += 1  # the search begins with it, and it costs nothing
    content: dict[str, Any] = {"candidate": candidate.id, "method": method, "seed": seed, "most": most}
    content |= {"held": session.frozen} | ({"known": len(known)} if known else {})
    search = SearchClient(
        space,
        method=method,
        seed=seed,
        max_evaluations=most,
        start=start,
        known=known,
        devices=devices,
        offered=offered,
    )
    return search, content


MOST_CONFIGURATIONS = 5000
"""Valid configurations of a search; with more of them what was settled before stays frozen, whatever a reply lists."""


def unfreeze(session: Effects, candidate: Candidate, names: Collection[str]) -> None:
    """Let these tunables be searched again, unless the space of the candidate would become too large."""
    frozen = {name: value for name, value in session.frozen.items() if name not in names}
    if frozen == session.frozen:
        return
    space = space_of(session, freeze(candidate, frozen, **limits_of(session)))
    if not space.has_more_than(MOST_CONFIGURATIONS):
        session.freeze(frozen)


def freeze_settled(session: Effects, outcome: Outcome) -> None:
    """Freeze what no longer matters in a kernel that was accepted; what is frozen in it already stays so."""
    candidate, best = outcome.candidate, outcome.best
    if outcome.step.state is not StepState.ACCEPTED or candidate is None or best is None:
        return
    values = best.configuration
    frozen = {name: value for name, value in session.frozen.items() if values.get(name) == value}
    known = session.bench.evaluations_of(candidate)
    settled = to_freeze(narrowed(session, candidate), values, known, MOST_CONFIGURATIONS, **limits_of(session))
    session.freeze({**frozen, **settled})


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
        if evaluation.ms is not None:
            for name, value in evaluation.configuration.items():
                best[name][value] = min(evaluation.ms, best[name].get(value, math.inf))
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
        if not space.has_more_than(most_configurations):
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
