"""What becomes of a rewritten kernel: its best configuration is found, and timed against the incumbent."""

from __future__ import annotations

import random

from tui_tuner.evaluate.results import Comparison, Evaluation, Failure
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.strategies.base import Effects, ModelFailed
from tui_tuner.strategies.history import best_of
from tui_tuner.strategies.parameters import narrowed, search_parameters, space_of
from tui_tuner.strategies.rewriting.failures import CandidateFailed, NotFaster, failure_of, failure_of_all
from tui_tuner.strategies.steps import Step, StepState

_EQUAL = Comparison(ratio=1.0, low=1.0, high=1.0, pairs=0)
"""The comparison of a program with itself, which is not timed."""


async def challenge_incumbent(
    session: Effects, step: Step, candidate: Candidate, best: Evaluation, neutral_from: float | None = None
) -> Step:
    """Time a candidate's best configuration against the incumbent; the step says what came of it.

    Args:
        neutral_from: factor over the incumbent from which a candidate that is not faster counts as neutral;
            None if it never does.

    Returns:
        The step, accepted or neutral.

    Raises:
        NotFaster: it is neither.
        EvaluationFailed: it fails on the fresh data of the comparison.
    """
    is_same = best.program == session.incumbent.evaluation.program
    comparison = _EQUAL if is_same else await session.challenge(candidate, best)
    if comparison.failure is not None:
        raise failure_of(on_fresh_data(best, comparison.failure))
    factor = comparison.factor
    if session.bench.is_faster(comparison):
        return session.update_step(step.now(StepState.ACCEPTED, factor=factor))
    if neutral_from is not None and comparison.high >= neutral_from:
        reason = "not faster by itself; kept for the steps that build on it"
        return session.update_step(step.now(StepState.NEUTRAL, factor=factor, reason=reason))
    reason = "the gain is too small to count" if comparison.low > 1 else "not faster than the best so far"
    if is_same:
        reason = "the compiler makes the same machine code of it as of the best so far"
    raise NotFaster(reason, best, factor)


async def challenge_or_reject(
    session: Effects, step: Step, candidate: Candidate, best: Evaluation, neutral_from: float | None = None
) -> Step:
    """Time a candidate against the incumbent: the step, accepted, neutral or rejected with the reason."""
    try:
        return await challenge_incumbent(session, step, candidate, best, neutral_from)
    except CandidateFailed as failed:
        return rejected(session, step, failed)


def rejected(session: Effects, step: Step, failed: CandidateFailed) -> Step:
    """Show why a step is rejected."""
    return session.update_step(step.now(StepState.REJECTED, reason=failed.in_plan, factor=failed.factor))


def on_fresh_data(best: Evaluation, failure: Failure) -> Evaluation:
    """An evaluation that passed its checks, with the failure of the comparison after it."""
    told = failure.model_copy(update={"message": f"on fresh data, after it passed the checks: {failure.message}"})
    return best.model_copy(update={"timing": None, "failure": told})


async def best_evaluation(session: Effects, candidate: Candidate, evaluations: int, start: Configuration) -> Evaluation:
    """The best evaluation of a candidate: its default configuration first, then a search.

    Args:
        evaluations: configurations at most.
        start: values that were best for another kernel; tried as well where they are valid for this one.

    Raises:
        CandidateFailed: no configuration passes the checks.
        BudgetSpent: before anything is known of it.
    """
    await _begin(session, candidate, start, carry=evaluations > 2)
    try:
        best = await search_parameters(session, candidate, evaluations - 1)
    except ModelFailed as failed:  # it was to choose configurations; the step goes on with what is measured
        session.note(f"the search of the parameters ends: {failed}", warning=True)
        best = best_of(session.bench.evaluations_of(candidate))
    return _right(session, candidate, best)


async def screened(session: Effects, candidate: Candidate, evaluations: int, start: Configuration) -> Evaluation:
    """The best of a few configurations, without a search: the default one, that of another kernel, others at random.

    Raises:
        CandidateFailed: none of them passes the checks.
        BudgetSpent: before anything is known of it.
    """
    await _begin(session, candidate, start, carry=evaluations > 1)
    more = evaluations - len(session.bench.evaluations_of(candidate))
    if more > 0:
        again = random.Random(session.seed)  # noqa: S311 - it is to be the same again
        await session.evaluate(candidate, space_of(session, narrowed(session, candidate)).sample(more, again))
    return _right(session, candidate, best_of(session.bench.evaluations_of(candidate)))


async def _begin(session: Effects, candidate: Candidate, start: Configuration, *, carry: bool) -> None:
    """Evaluate the default configuration, and that with the values of another kernel where they are to be carried over.

    Raises:
        CandidateFailed: all other configurations would fail as the default one does.
    """
    searched = narrowed(session, candidate)
    default = searched.default_configuration
    first = (await session.evaluate(candidate, [default]))[0]
    if first.failure is not None and first.failure.kind.is_shared:
        raise failure_of(first)
    carried = {**default, **{name: value for name, value in start.items() if name in default}}
    if carry and space_of(session, searched).is_valid(carried) is None:
        await session.evaluate(candidate, [carried])


def _right(session: Effects, candidate: Candidate, best: Evaluation | None) -> Evaluation:
    if best is None:
        raise failure_of_all(session.bench.evaluations_of(candidate))
    return best
