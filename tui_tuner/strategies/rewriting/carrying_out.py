"""Carrying out a step of a plan: its prompt, its kernel, and what is frozen afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tui_tuner.problem.model import Value
from tui_tuner.prompts.render import render
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.history import Outcome, history_facts
from tui_tuner.strategies.parameters.held import freeze_settled
from tui_tuner.strategies.rewriting.development import RewriteJob, StartingPoint, develop
from tui_tuner.strategies.rewriting.retry import RetryPolicy
from tui_tuner.strategies.situation import rewrite_answer, situation
from tui_tuner.strategies.steps import Step


def best_so_far(session: Effects) -> StartingPoint:
    """The incumbent."""
    return StartingPoint(session.incumbent.candidate, session.incumbent.evaluation.configuration)


def kernel_of(outcome: Outcome) -> StartingPoint | None:
    """The kernel of an earlier step; None if it has none that is right."""
    if outcome.candidate is None or outcome.best is None:
        return None
    return StartingPoint(outcome.candidate, outcome.best.configuration)


@dataclass(frozen=True)
class StepBrief:
    """What a step is carried out with.

    Attributes:
        evaluations: configurations that may be measured for it.
        outcomes: what came of the steps so far; the model sees it.
        description: what to do; None for the step's own detail.
        parameters: tunables that the step introduces, with their values.
        neutral_from: factor over the incumbent from which a kernel that is not faster is neutral.
    """

    start: StartingPoint
    evaluations: int
    outcomes: Sequence[Outcome] = ()
    description: str | None = None
    parameters: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    neutral_from: float | None = None


async def carry_out(session: Effects, step: Step, brief: StepBrief, policy: RetryPolicy) -> Outcome:
    """Let the model rewrite a kernel as a step says, until it is accepted, neutral or given up.

    Raises:
        BudgetSpent: before it came to an end.
    """
    start = brief.start
    prompt = render(
        "apply_step",
        title=step.title,
        description=step.detail if brief.description is None else brief.description,
        parameters=_introduced(brief.parameters),
        situation=situation(session, start.candidate, history_facts(brief.outcomes)),
        answer=rewrite_answer(brief.evaluations),
    )
    job = RewriteJob("apply_step", prompt, start, brief.evaluations, brief.parameters, brief.neutral_from)
    outcome = await develop(session, step, job, policy)
    freeze_settled(session, outcome)
    return outcome


def _introduced(parameters: Mapping[str, Sequence[Value]]) -> str:
    lines = [f"- {name}: {', '.join(map(str, values))}" for name, values in parameters.items()]
    return render("parameters", parameters="\n".join(lines)) if lines else ""
