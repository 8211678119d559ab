"""Strategies that leave the code: `search` without a model, `llm_search` with one.

The rounds follow the public design of an LLM-first parallel autotuner for Helion; `docs/llm-search.md` says where they
differ and why. The code of the kernel stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.methods import DEFAULT_METHOD, Methods, methods_of
from tui_tuner.strategies.base import Effects, ModelFailed, Strategy
from tui_tuner.strategies.history import best_of
from tui_tuner.strategies.parameters import narrowed, search_parameters, space_of
from tui_tuner.strategies.rewriting.development import challenge_or_reject
from tui_tuner.strategies.steps import Step, StepState


class LlmSearchStrategy(Strategy):
    """Search the tunables of the kernel as given by a model's rounds and what `--search` names after them.

    `--search llm` leaves the model alone; the settings of the rounds are the session's, `[session.rounds]`.
    """

    needs_model: ClassVar[bool] = True

    async def run(self, session: Effects) -> None:
        """One step: rounds, local search, finalists, challenge.

        Raises:
            ModelFailed: the model gave nothing and the fallback is `error`.
        """
        methods = replace(methods_of(session.options.search or DEFAULT_METHOD), rounds=True)
        await tune_baseline(session, session.budget.evaluations_left, methods)


class SearchStrategy(Strategy):
    """Search the tunables of the kernel as given; accept the best if it is faster."""

    async def run(self, session: Effects) -> None:
        """One step: search, then challenge."""
        await tune_baseline(session, session.budget.evaluations_left)


async def tune_baseline(session: Effects, max_evaluations: int, methods: Methods | None = None) -> None:
    """The step that tunes the tunables of the kernel as given, asking the user first."""
    title = "Tune the parameters of the kernel as given"
    await tune_parameters(session, session.baseline, title, max_evaluations, methods)


async def tune_parameters(
    session: Effects,
    candidate: Candidate,
    title: str,
    max_evaluations: int,
    methods: Methods | None = None,
    *,
    again: bool = False,
) -> None:
    """A step that searches the tunables of a candidate and challenges the incumbent with the best.

    Args:
        methods: how to search; None for the user's choice.
        again: whether the candidate was searched before.

    Raises:
        ModelFailed: the model gave nothing and the fallback is `error`; what was found before is settled.
    """
    space = space_of(session, narrowed(session, candidate))
    step = session.add_step(title, _detail(candidate, space))
    if space.size <= 1:
        session.update_step(step.now(StepState.SKIPPED, reason="there is nothing to choose from"))
        return
    decision = await session.approve(step)
    if decision.action != "approve":
        session.update_step(step.now(StepState.SKIPPED, reason=decision.message or "skipped by hand"))
        return
    step = session.update_step(step.now(StepState.RUNNING))
    try:
        best = await search_parameters(session, candidate, max_evaluations, methods, again=again, step=step)
    except ModelFailed:
        await _settle(session, step, candidate, best_of(session.bench.evaluations_of(candidate)))
        raise
    await _settle(session, step, candidate, best)


async def _settle(session: Effects, step: Step, candidate: Candidate, best: Evaluation | None) -> None:
    """Challenge the incumbent with the best of a search, where it found one."""
    if best is None:
        session.update_step(step.now(StepState.REJECTED, reason="no configuration passed the checks"))
    elif best == session.incumbent.evaluation:
        session.update_step(step.now(StepState.NEUTRAL, reason="the configuration that it has is the best"))
    else:
        await challenge_or_reject(session, step, candidate, best)


def _detail(candidate: Candidate, space: SearchSpace) -> str:
    return f"{space.size_in_words} configurations of {', '.join(candidate.tunables) or 'no tunables'}"
