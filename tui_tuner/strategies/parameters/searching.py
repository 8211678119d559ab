"""Searching the tunable parameters of one candidate, for every strategy that has one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypedDict

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.client import SearchClient
from tui_tuner.search.methods import DEFAULT_METHOD, SURROGATE
from tui_tuner.strategies.base import BudgetSpent, Effects
from tui_tuner.strategies.parameters.best import best_of, best_of_finalists
from tui_tuner.strategies.parameters.freezing import freeze
from tui_tuner.strategies.parameters.methods import Methods, methods_of
from tui_tuner.strategies.parameters.rounds.rounds import Rounds
from tui_tuner.strategies.steps import Step


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
    if space_of(session, narrowed(session, candidate)).size <= most:
        methods = Methods(
            rounds=False, local=methods.local or DEFAULT_METHOD
        )  # all of it is measured: nothing to choose
    try:
        if methods.rounds:
            most -= await _search_by_rounds(session, candidate, most, methods, step)
        if methods.local is not None and most > 0:
            await _search_locally(session, candidate, most, methods, again=again)
    except BudgetSpent as spent:
        session.note(f"search ends: {spent}")
    if methods.rounds:
        return await best_of_finalists(session, candidate)
    return best_of(session.bench.evaluations_of(candidate))


async def _search_by_rounds(
    session: Effects, candidate: Candidate, most: int, methods: Methods, step: Step | None
) -> int:
    """Let the model choose, with its share of the evaluations; returns how many were made."""
    searched = narrowed(session, candidate)
    space = space_of(session, searched)
    share = most if methods.local is None else most - int(most * session.options.rounds.local_share)
    left = session.budget.evaluations_left
    found = await session.recollect(candidate)
    reason = await Rounds(session, candidate, searched, space, share, found, step).run()
    session.note(f"the model's rounds end: {reason}")
    return left - session.budget.evaluations_left


async def _search_locally(session: Effects, candidate: Candidate, most: int, methods: Methods, *, again: bool) -> None:
    """Search without the model, after its rounds or alone."""
    method, seed = methods.local or DEFAULT_METHOD, session.seed + again
    searched = narrowed(session, candidate)
    space, start = space_of(session, searched), searched.default_configuration
    measured = session.bench.evaluations_of(candidate)
    known: list[tuple[Configuration, float | None]] = []
    if methods.rounds or method == SURROGATE:
        known = [(e.configuration, _milliseconds(e)) for e in measured if space.contains(e.configuration)]
    elif again:
        most += len(measured)  # what it proposes of these costs nothing
    elif any(e.configuration == start for e in measured):
        most += 1  # the search begins with it, and it costs nothing
    content = {"candidate": candidate.id, "method": method, "seed": seed, "most": most, "held": session.frozen}
    if known:
        content["known"] = len(known)
    search = SearchClient(space, method=method, seed=seed, max_evaluations=most, start=start, known=known)
    async with session.proposals(search, content) as batches:
        async for batch in batches:
            evaluations = await session.evaluate(candidate, batch)
            await batches.tell([_milliseconds(evaluation) for evaluation in evaluations])


def _milliseconds(evaluation: Evaluation) -> float | None:
    return None if evaluation.timing is None else evaluation.timing.median
