"""Strategy `search`: no model, one of kernel_tuner's searches over the problem's own tunables."""

from __future__ import annotations

from tui_tuner.problem.candidate import Candidate
from tui_tuner.strategies.acceptance import challenge_incumbent
from tui_tuner.strategies.base import Effects, Strategy
from tui_tuner.strategies.parameter_search import search_parameters, space_of
from tui_tuner.strategies.steps import StepState


class SearchStrategy(Strategy):
    """Search the tunables of the kernel as given; accept the best if it is faster."""

    name = "search"

    async def run(self, session: Effects) -> None:
        """One step: search, then challenge."""
        await tune_baseline(session, session.evaluations_left)


async def tune_baseline(session: Effects, max_evaluations: int) -> None:
    """The step that tunes the tunables of the kernel as given, asking the user first."""
    candidate = session.baseline
    size = space_of(session, candidate).size
    step = session.add_step("Tune the parameters of the kernel as given", _detail(candidate, size))
    if size <= 1:
        session.update_step(step, state=StepState.SKIPPED, reason="there is nothing to choose from")
        return
    decision = await session.approve(step)
    if decision.action != "approve":
        session.update_step(step, state=StepState.SKIPPED, reason=decision.message or "you skipped it")
        return
    step = session.update_step(step, state=StepState.RUNNING)
    best = await search_parameters(session, candidate, max_evaluations)
    if best is None:
        session.update_step(step, state=StepState.REJECTED, reason="no configuration passed the checks")
        return
    if best.configuration == session.given.configuration:
        session.update_step(step, state=StepState.NEUTRAL, reason="the default configuration is the best")
        return
    await challenge_incumbent(session, step, candidate, best)


def _detail(candidate: Candidate, size: int) -> str:
    return f"{size} configurations of {', '.join(candidate.tunables) or 'no tunables'}"
