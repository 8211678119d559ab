"""Searching the tunable parameters of one candidate, for every strategy that has one."""

from __future__ import annotations

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.client import Search
from tui_tuner.search.methods import DEFAULT_METHOD
from tui_tuner.strategies.base import BudgetSpent, Effects


def space_of(session: Effects, candidate: Candidate) -> SearchSpace:
    """The valid configurations of a candidate on the session's device."""
    return SearchSpace(
        candidate.tunables,
        candidate.restrictions,
        sizes=session.problem.sizes,
        max_threads=session.device.max_threads_per_block,
        launch=candidate.launch,
    )


async def search_parameters(session: Effects, candidate: Candidate, max_evaluations: int) -> Evaluation | None:
    """Search a candidate's space and return the best evaluation known of it, None if none is valid.

    A budget that runs out on the way ends the search, not the strategy.
    """
    most = min(max_evaluations, session.evaluations_left)
    known = session.evaluations_of(candidate)
    if most < 1:
        return best_of(known)
    if any(e.configuration == candidate.default_configuration for e in known):
        most += 1  # the search begins with it, and it costs nothing
    space = space_of(session, candidate)
    search = Search(
        space,
        method=session.search_method or DEFAULT_METHOD,
        seed=session.seed,
        max_evaluations=most,
        start=candidate.default_configuration,
    )
    try:
        async with search:
            async for batch in search:
                evaluations = await session.evaluate(candidate, batch)
                await search.tell([None if e.timing is None else e.timing.median for e in evaluations])
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
