"""What all strategies that ask a model share, and the simplest of them, `one_prompt`."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_serializer, field_validator

from tui_tuner.prompts import render
from tui_tuner.strategies.base import Effects, Strategy
from tui_tuner.strategies.history import facts_from_memory
from tui_tuner.strategies.parameters import narrowed, space_of
from tui_tuner.strategies.rewriting.development import RewriteJob, StartingPoint, develop, rewrite_answer, situation
from tui_tuner.strategies.rewriting.failures import RetryPolicy, failure_named
from tui_tuner.strategies.search import tune_baseline, tune_parameters

BASELINE_SHARE = 4
"""One in so many of the evaluations is spent on the kernel as given."""
LEAST_EVALUATIONS = 5
"""A step gets so many evaluations at least, where that many are left."""


class ModelStrategy(Strategy):
    """A strategy that asks a model.

    Attributes:
        retry_policy: what the model is told of a kernel that failed, and how often it may try.
    """

    needs_model: ClassVar[bool] = True
    rewrites: ClassVar[bool] = True

    retry_policy: RetryPolicy = Field(default_factory=RetryPolicy)

    @field_serializer("retry_policy")
    def _plain_policy(self, policy: RetryPolicy) -> dict[str, Any]:
        """What can be written down of it: handlers are code and stay with the program."""
        final = {"final": [kind.__name__ for kind in policy.final]} if policy.final else {}
        return {"attempts": policy.attempts, **final}

    @field_validator("retry_policy", mode="before")
    @classmethod
    def _classes_by_name(cls, policy: object) -> object:
        """A policy as it is written in TOML, where classes of failures are named."""
        if not isinstance(policy, dict) or not isinstance(policy.get("final"), list):
            return policy
        final = tuple(failure_named(name) if isinstance(name, str) else name for name in policy["final"])
        return {**policy, "final": final}


async def tune_baseline_first(session: Effects) -> None:
    """Tune the kernel as given with its share of the evaluations: what a rewrite has to beat."""
    await tune_baseline(session, max(1, session.budget.evaluations_left // BASELINE_SHARE))


async def tune_incumbent_last(session: Effects) -> None:
    """Spend what evaluations are left on the parameters of the best kernel, where some are not measured yet."""
    best, left = session.incumbent.candidate, session.budget.evaluations_left
    space = space_of(session, narrowed(session, best))
    measured = sum(space.contains(evaluation.configuration) for evaluation in session.bench.evaluations_of(best))
    if left and space.size > measured:
        await tune_parameters(session, best, "Tune the parameters of the best kernel", left, again=True)


def share_of(session: Effects, steps_to_come: int) -> int:
    """Evaluations for one step, where so many others are still to come."""
    left = session.budget.evaluations_left
    return min(left, max(LEAST_EVALUATIONS, left // (steps_to_come + 2)))


class OnePromptStrategy(ModelStrategy):
    """Tune the kernel as given, then let the model rewrite it, with what went wrong told to the next attempt."""

    async def run(self, session: Effects) -> None:
        """One step; the first rewrite that is accepted ends it."""
        await tune_baseline_first(session)
        step = session.add_step("Rewrite the kernel", "one prompt: code, tunables, launch")
        evaluations = max(1, session.budget.evaluations_left * 2 // 3)
        facts = situation(session, session.baseline, await facts_from_memory(session))
        prompt = render("one_prompt", situation=facts, answer=rewrite_answer(evaluations))
        start = StartingPoint(session.baseline, session.incumbent.evaluation.configuration)
        job = RewriteJob("one_prompt", prompt, start, evaluations, puts_back_slow=True)
        await develop(session, step, job, self.retry_policy)
        await tune_incumbent_last(session)
