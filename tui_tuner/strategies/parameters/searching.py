"""Searching the tunable parameters of one candidate, for every strategy that has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.client import Search
from tui_tuner.search.methods import DEFAULT_METHOD
from tui_tuner.strategies.base import BudgetSpent, Effects
from tui_tuner.strategies.parameters.freezing import freeze


class Limits(TypedDict):
    """What bounds a space besides its own restrictions."""

    sizes: Mapping[str, int]
    max_threads: int | None


def limits_of(session: Effects) -> Limits:
    """Of the problem and the device."""
    return {"sizes": session.problem.sizes, "max_threads": session.device.max_threads_per_block}


def narrowed(session: Effects, candidate: Candidate) -> Candidate:
    """A candidate as it is searched: with the tunables that the session holds at one value."""
    return freeze(candidate, session.frozen, **limits_of(session))


def space_of(session: Effects, candidate: Candidate) -> SearchSpace:
    """The valid configurations of a candidate on the session's device."""
    return candidate.space(**limits_of(session))


async def search_parameters(
    session: Effects, candidate: Candidate, max_evaluations: int, *, again: bool = False
) -> Evaluation | None:
    """Search a candidate's space and return the best evaluation known of it, None if none is valid.

    A budget that runs out on the way ends the search, not the strategy.

    Args:
        again: whether it was searched before, so that other configurations are to be proposed.
    """
    most = min(max_evaluations, session.evaluations_left)
    known = session.evaluations_of(candidate)
    if most < 1:
        return best_of(known)
    searched = narrowed(session, candidate)
    start = searched.default_configuration
    if again:
        most += len(known)  # what it proposes of these costs nothing
    elif any(e.configuration == start for e in known):
        most += 1  # the search begins with it, and it costs nothing
    method, seed = session.search_method or DEFAULT_METHOD, session.seed + again
    search = Search(space_of(session, searched), method=method, seed=seed, max_evaluations=most, start=start)
    content = {"candidate": candidate.id, "method": method, "seed": seed, "most": most, "held": session.frozen}
    try:
        async with session.proposals(search, content) as batches:
            async for batch in batches:
                evaluations = await session.evaluate(candidate, batch)
                await batches.tell([None if e.timing is None else e.timing.median for e in evaluations])
    except BudgetSpent as spent:
        session.note(f"search ends: {spent}")
    return best_of(session.evaluations_of(candidate))


def best_of(evaluations: list[Evaluation]) -> Evaluation | None:
    """The fastest that passed all checks."""
    return min(
        (e for e in evaluations if e.timing is not None),
        key=lambda e: e.timing.median if e.timing is not None else float("inf"),
        default=None,
    )
