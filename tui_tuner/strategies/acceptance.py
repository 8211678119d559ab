"""Accept or not: the same rule and the same words for every strategy."""

from __future__ import annotations

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.steps import Step, StepState


async def challenge_incumbent(session: Effects, step: Step, candidate: Candidate, best: Evaluation) -> str | None:
    """Accept a candidate's best configuration if it beats the incumbent, and say so in its step.

    Returns:
        None if it was accepted, else why not.
    """
    comparison = await session.challenge(candidate, best)
    if comparison.failure is not None:
        reason = f"{comparison.failure.kind} on fresh data: {comparison.failure.message}"
        session.update_step(step, state=StepState.REJECTED, reason=reason)
        return reason
    factor = (comparison.ratio, comparison.low, comparison.high)
    if session.is_faster(comparison):
        session.update_step(step, state=StepState.ACCEPTED, factor=factor, reason="")
        return None
    reason = "the gain is too small to count" if comparison.low > 1 else "not faster than the best so far"
    session.update_step(step, state=StepState.REJECTED, factor=factor, reason=reason)
    return reason
