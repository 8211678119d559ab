"""Accept or not: the same rule and the same words for every strategy."""

from __future__ import annotations

from tui_tuner.evaluate.results import Evaluation, Failure
from tui_tuner.problem.candidate import Candidate
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.rewriting.failures import CandidateFailed, NotFaster, failure_of
from tui_tuner.strategies.steps import Step, StepState


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
    comparison = await session.challenge(candidate, best)
    if comparison.failure is not None:
        raise failure_of(on_fresh_data(best, comparison.failure))
    factor = (comparison.ratio, comparison.low, comparison.high)
    if session.bench.is_faster(comparison):
        return session.update_step(step.now(StepState.ACCEPTED, factor=factor))
    if neutral_from is not None and comparison.high >= neutral_from:
        reason = "not faster by itself; kept for the steps that build on it"
        return session.update_step(step.now(StepState.NEUTRAL, factor=factor, reason=reason))
    reason = "the gain is too small to count" if comparison.low > 1 else "not faster than the best so far"
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
    return session.update_step(step.now(StepState.REJECTED, reason=failed.reason, factor=failed.factor))


def on_fresh_data(best: Evaluation, failure: Failure) -> Evaluation:
    """An evaluation that passed its checks, with the failure of the comparison after it."""
    told = failure.model_copy(update={"message": f"on fresh data, after it passed the checks: {failure.message}"})
    return best.model_copy(update={"timing": None, "failure": told})
