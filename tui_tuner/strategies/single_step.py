"""The strategies of a single step, and what the longer ones share with them: the given tuned first, the best last.

The rounds of `llm_search` follow the public design of an LLM-first parallel autotuner for Helion; `docs/llm-search.md`
says where they differ and why. It and `search` leave the code of the kernel as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_serializer, field_validator

from tui_tuner.evaluate.profiling.roofline import ALL_MOVED, moved_once, roofline
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tuning_step import TuningStep, faults_of_steps
from tui_tuner.prompts import render
from tui_tuner.search import DEFAULT_METHOD, Methods, methods_of
from tui_tuner.strategies.base import Effects, ModelFailed, Strategy
from tui_tuner.strategies.history import best_of, facts_from_memory
from tui_tuner.strategies.parameters import narrowed, search_parameters, space_of
from tui_tuner.strategies.rewriting import StartingPoint, rewrite_answer, situation
from tui_tuner.strategies.rewriting.development import develop
from tui_tuner.strategies.rewriting.failures import Rejected, RetryPolicy, failure_named
from tui_tuner.strategies.rewriting.line import RewriteJob, challenge_or_reject, rejected
from tui_tuner.strategies.step_lists import load_steps, techniques
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

    searches_first: ClassVar[bool] = True

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
    if decision.action == "reject":
        rejected(session, step, Rejected(decision.message))
        return
    if decision.action != "approve":
        session.update_step(step.now(StepState.SKIPPED, reason="skipped by hand"))
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
        is_alone = len(session.bench.evaluations_of(candidate)) == 1  # the budget ended before any other
        reason = "no other configuration was measured" if is_alone else "the configuration that it has is the best"
        session.update_step(step.now(StepState.NEUTRAL, reason=reason))
    else:
        await challenge_or_reject(session, step, candidate, best)


def _detail(candidate: Candidate, space: SearchSpace) -> str:
    return f"{space.size_in_words} configurations of {', '.join(candidate.tunables) or 'no tunables'}"


BASELINE_SHARE = 4
"""One in so many of the evaluations is spent on the kernel as given."""
LEAST_EVALUATIONS = 5
"""A step gets so many evaluations at least, where that many are left."""


MOST_CANDIDATES = 16
"""Kernels that a step may ask for."""


class ModelStrategy(Strategy):
    """A strategy that asks a model.

    Attributes:
        retry_policy: what the model is told of a kernel that failed, and how often it may try.
        candidates: kernels that are asked for in each step that rewrites, each with tries of its own; the one that is
            fastest in a few configurations is tuned.
    """

    needs_model: ClassVar[bool] = True
    rewrites: ClassVar[bool] = True

    retry_policy: RetryPolicy = Field(default_factory=RetryPolicy)
    candidates: int = Field(default=1, ge=1, le=MOST_CANDIDATES)

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


class AdvisedStrategy(ModelStrategy):
    """A strategy that tells the model of techniques, where it is known what holds the kernel back.

    Attributes:
        techniques: the user's own, each with what it helps against in `when`, or the TOML file that has them as
            `[[steps]]`; they go before the default ones.
    """

    techniques: list[TuningStep] = Field(default_factory=list)

    @field_validator("techniques", mode="before")
    @classmethod
    def _read(cls, techniques: object) -> object:
        return load_steps(Path(techniques).expanduser()) if isinstance(techniques, str | Path) else techniques

    @field_validator("techniques")
    @classmethod
    def _sound(cls, techniques: list[TuningStep]) -> list[TuningStep]:
        faults = [f"'{step.id}' does not say in `when` what it helps against" for step in techniques if not step.when]
        if faults := [*faults_of_steps(techniques), *faults]:
            raise ValueError("; ".join(faults))
        return techniques

    def kept(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with the techniques in place of their file."""
        if "techniques" not in options:
            return dict(options)
        return {**options, **self.model_dump(mode="json", include={"techniques"}, exclude_defaults=True)}


async def tune_baseline_first(session: Effects) -> None:
    """Tune the kernel as given with its share of the evaluations: what a rewrite has to beat."""
    await tune_baseline(session, max(1, session.budget.evaluations_left // BASELINE_SHARE))


async def tune_incumbent_last(session: Effects, *, rounds: bool = True) -> None:
    """Spend what evaluations are left on the parameters of the best kernel, where some are not measured yet.

    Args:
        rounds: whether a model may choose, where the user named a method with one.
    """
    best, left = session.incumbent.candidate, session.budget.evaluations_left
    space = space_of(session, narrowed(session, best))
    measured = sum(space.contains(evaluation.configuration) for evaluation in session.bench.evaluations_of(best))
    if left and space.size > measured:
        chosen = methods_of(session.options.search or DEFAULT_METHOD)
        methods = chosen if rounds else Methods(rounds=False, local=chosen.local or DEFAULT_METHOD)
        await tune_parameters(session, best, "Tune the parameters of the best kernel", left, methods, again=True)


def share_of(session: Effects, steps_to_come: int) -> int:
    """Evaluations for one step, where so many others are still to come."""
    left = session.budget.evaluations_left
    return min(left, max(LEAST_EVALUATIONS, left // (steps_to_come + 2)))


def nearness(session: Effects, enough: float) -> str:
    """How near the best is to what moving the data takes, in words, where that is near enough; else empty.

    Arithmetic is no such bound: other units of the device may be faster.

    Args:
        enough: share of the roofline from which on another kernel could gain next to nothing.
    """
    share = session.incumbent.evaluation.share
    if share is None:
        return _nearness_undeclared(session, enough)
    if share < enough:
        return ""
    limits = roofline(session.problem, session.bench.device)
    return f"the best is at {share:.0%} of the roofline" if limits and limits.limiter == "memory" else ""


_NEAR_AS_DECLARED_UP_TO = 21
"""Sessions that began with a wording up to this go on, however fast, where no work is declared."""


def _nearness_undeclared(session: Effects, enough: float) -> str:
    """The same where nothing says what a launch moves: by all of its arrays, unless it is faster than these can be."""
    moved, timing = moved_once(session.problem, session.bench.device), session.incumbent.evaluation.timing
    if moved is None or timing is None or session.wording <= _NEAR_AS_DECLARED_UP_TO:
        return ""
    share = moved.share(timing.median)
    near = f"the best is at {share:.0%} of what moving each array once takes, at {moved.bandwidth}"
    return near if enough <= share <= ALL_MOVED else ""


class OnePromptStrategy(AdvisedStrategy):
    """Tune the kernel as given, then let the model rewrite it, with what went wrong told to the next attempt."""

    async def run(self, session: Effects) -> None:
        """One step; the first rewrite that is accepted ends it."""
        await tune_baseline_first(session)
        step = session.add_step("Rewrite the kernel", "one prompt: code, tunables, launch")
        evaluations = max(1, session.budget.evaluations_left * 2 // 3)
        facts = await situation(session, session.baseline, await facts_from_memory(session))
        prompt = render(
            "one_prompt",
            situation=facts,
            techniques=(await techniques(session, session.baseline, self.techniques)).text,
            answer=rewrite_answer(session, evaluations, session.baseline.source),
        )
        start = StartingPoint(session.baseline, session.incumbent.evaluation.configuration)
        job = RewriteJob("one_prompt", prompt, start, evaluations, puts_back_slow=True, candidates=self.candidates)
        await develop(session, step, job, self.retry_policy)
        await tune_incumbent_last(session)
