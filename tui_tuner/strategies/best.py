"""The best of what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.problem.candidate import Candidate
from tui_tuner.strategies.base import Effects, Incumbent

MOST_FINALISTS = 3


def best_of(evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """The fastest that passed all checks."""
    return min(
        (e for e in evaluations if e.timing is not None),
        key=lambda e: e.timing.median if e.timing is not None else float("inf"),
        default=None,
    )


async def best_of_finalists(session: Effects, candidate: Candidate) -> Evaluation | None:
    """The fastest of a candidate; those that cannot be told from it by their intervals are timed against it again.

    They are timed interleaved on fresh data: among many measurements the least one is low by luck as well.
    """
    evaluations = session.bench.evaluations_of(candidate)
    winner = best_of(evaluations)
    if winner is None or winner.timing is None:
        return None
    for finalist in _finalists(winner, winner.timing, evaluations):
        comparison = await session.compare(Incumbent(candidate, winner, (1.0, 1.0, 1.0)), candidate, finalist)
        if comparison.failure is None and comparison.low > 1:
            winner = finalist
    return winner


def _finalists(best: Evaluation, time: Timing, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Those whose interval reaches into that of the best, the fastest first."""
    near = [
        (e.timing.median, e)
        for e in evaluations
        if e.timing is not None and e is not best and e.timing.low <= time.high
    ]
    return [evaluation for _, evaluation in sorted(near, key=lambda pair: pair[0])][:MOST_FINALISTS]
