"""Working on one step: the model is told and rewrites, the machine builds, checks and times, the session decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.results import Comparison, Evaluation, Failure
from tui_tuner.llm import Message
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.prompts import device_facts, launch_facts, measurement_facts, question, render, size_facts
from tui_tuner.strategies.base import BudgetSpent, Effects, ModelFailed, StepSkipped, ask_and_read
from tui_tuner.strategies.history import UNANSWERED, Outcome, best_of, history_facts
from tui_tuner.strategies.parameters import freeze_settled, narrowed, search_parameters, space_of, unfreeze
from tui_tuner.strategies.rewriting.failures import (
    CandidateFailed,
    NotFaster,
    Rejected,
    RetryPolicy,
    failure_of,
    failure_of_all,
)
from tui_tuner.strategies.rewriting.rewrite import CheckedRewrite, RewriteContext, RewriteReply, read_rewrite
from tui_tuner.strategies.steps import Decision, Step, StepState

_EQUAL = Comparison(ratio=1.0, low=1.0, high=1.0, pairs=0)
"""Of a program with itself, which is not timed."""


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
    factor = (comparison.ratio, comparison.low, comparison.high)
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
    return session.update_step(step.now(StepState.REJECTED, reason=failed.reason, factor=failed.factor))


def on_fresh_data(best: Evaluation, failure: Failure) -> Evaluation:
    """An evaluation that passed its checks, with the failure of the comparison after it."""
    told = failure.model_copy(update={"message": f"on fresh data, after it passed the checks: {failure.message}"})
    return best.model_copy(update={"timing": None, "failure": told})


@dataclass(frozen=True)
class StartingPoint:
    """The kernel that a step rewrites, with the best configuration known of it."""

    candidate: Candidate
    configuration: Configuration


@dataclass(frozen=True)
class RewriteJob:
    """What the model is asked for.

    Attributes:
        purpose: the name of the prompt.
        prompt: the whole text.
        evaluations: configurations that may be measured for it.
        parameters: tunables that the kernel must have, with their values.
        neutral_from: factor over the incumbent from which a kernel that is not accepted counts as neutral;
            None if it never does.
        puts_back_slow: whether a kernel that is right and not faster is put back as well.
    """

    purpose: str
    prompt: str
    start: StartingPoint
    evaluations: int
    parameters: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    neutral_from: float | None = None
    puts_back_slow: bool = False


async def develop(session: Effects, step: Step, job: RewriteJob, policy: RetryPolicy) -> Outcome:
    """Ask for a kernel until one is accepted, found neutral, or given up; the outcome stands in its step.

    Raises:
        BudgetSpent: before it came to an end.
    """
    step = session.update_step(step.now(StepState.RUNNING))
    try:
        return await _develop(session, step, job, policy)
    except StepSkipped as skipped:
        return Outcome(session.update_step(step.now(StepState.SKIPPED, reason=str(skipped))))
    except BudgetSpent as spent:
        session.update_step(step.now(StepState.SKIPPED, reason=str(spent)))
        raise


async def _develop(session: Effects, step: Step, job: RewriteJob, policy: RetryPolicy) -> Outcome:
    context = _context(session, job)
    messages = question(job.prompt)
    last = session.budget.model_calls + policy.attempts
    outcome = Outcome(step)
    while True:
        try:
            rewrite = await _ask(session, job.purpose, messages, context, step.title, last - session.budget.model_calls)
        except ModelFailed as failed:
            return _given_up(session, outcome, str(failed))
        candidate = rewrite.candidate
        unfreeze(session, candidate, rewrite.searched)
        decision = await session.approve(step, candidate, rewrite.reply.summary)
        if decision.action == "skip":
            return Outcome(session.update_step(step.now(StepState.SKIPPED, reason="skipped by hand")), candidate)
        candidate = decision.applied_to(candidate)
        try:
            return await _settle(session, step, candidate, job, decision)
        except CandidateFailed as failed:
            outcome = Outcome(rejected(session, step, failed), candidate, failed.best)
            final = isinstance(failed, NotFaster) and not job.puts_back_slow
            if session.budget.model_calls >= last or final or not policy.puts_back(failed):
                return outcome
            said = rewrite.reply.model_copy(update={"code": candidate.source}).model_dump_json()
            messages += [Message("assistant", said), Message("user", policy.message(failed))]
            step = session.update_step(step.now(StepState.RUNNING, reason=f"asked again: {failed.reason}"))


def _context(session: Effects, job: RewriteJob) -> RewriteContext:
    start, limit = job.start, session.bench.device.max_threads_per_block
    return RewriteContext(session.problem, start.candidate, start.configuration, limit, job.parameters, session.frozen)


async def _ask(
    session: Effects, purpose: str, messages: Sequence[Message], context: RewriteContext, title: str, attempts: int
) -> CheckedRewrite:
    return await ask_and_read(
        lambda check: session.ask(purpose, messages, RewriteReply, check, attempts),
        lambda reply: read_rewrite(reply, context, title),
    )


def _given_up(session: Effects, last: Outcome, reason: str) -> Outcome:
    """The model gave no further kernel; the failure of the last one is told as well."""
    known, factor = last.step.reason, last.step.factor
    rejected = last.step.now(StepState.REJECTED, reason=f"{known}; then {reason}" if known else reason, factor=factor)
    return replace(last, step=session.update_step(rejected), told=known or UNANSWERED)


async def _settle(session: Effects, step: Step, candidate: Candidate, job: RewriteJob, decision: Decision) -> Outcome:
    """Do as the user decided: evaluate, search, challenge.

    Raises:
        CandidateFailed: it is not accepted.
    """
    if decision.action == "reject":
        raise Rejected(decision.message)
    step = session.update_step(step.now(StepState.RUNNING))
    best = await best_evaluation(session, candidate, job.evaluations, job.start.configuration)
    step = await challenge_incumbent(session, step, candidate, best, job.neutral_from)
    return Outcome(step, candidate, best)


async def best_evaluation(session: Effects, candidate: Candidate, evaluations: int, start: Configuration) -> Evaluation:
    """The best evaluation of a candidate: its default configuration first, then a search.

    Args:
        evaluations: configurations at most.
        start: values that were best for another kernel; tried as well where they are valid for this one.

    Raises:
        CandidateFailed: no configuration passes the checks.
        BudgetSpent: before anything is known of it.
    """
    searched = narrowed(session, candidate)
    default = searched.default_configuration
    first = (await session.evaluate(candidate, [default]))[0]
    if first.failure is not None and first.failure.kind.is_shared:
        raise failure_of(first)
    carried = {**default, **{name: value for name, value in start.items() if name in default}}
    if evaluations > 2 and space_of(session, searched).is_valid(carried) is None:
        await session.evaluate(candidate, [carried])
    try:
        best = await search_parameters(session, candidate, evaluations - 1)
    except ModelFailed as failed:  # it was to choose configurations; the step goes on with what is measured
        session.note(f"the search of the parameters ends: {failed}", warning=True)
        best = best_of(session.bench.evaluations_of(candidate))
    if best is None:
        raise failure_of_all(session.bench.evaluations_of(candidate))
    return best


def best_so_far(session: Effects) -> StartingPoint:
    """The incumbent."""
    return StartingPoint(session.incumbent.candidate, session.incumbent.evaluation.configuration)


def kernel_of(outcome: Outcome) -> StartingPoint | None:
    """The kernel of an earlier step; None if it has none that is right."""
    if outcome.candidate is None or outcome.best is None:
        return None
    return StartingPoint(outcome.candidate, outcome.best.configuration)


def wanted_start(session: Effects, step: Step, outcomes: Sequence[Outcome]) -> StartingPoint | None:
    """The kernel that the user wants a step to start from; None if they name none, or none that is right."""
    if step.base == session.baseline.id:
        known = best_of(session.bench.evaluations_of(session.baseline)) or session.bench.given
        return StartingPoint(session.baseline, known.configuration)
    starts = (kernel_of(outcome) for outcome in outcomes)
    return next((start for start in starts if start is not None and start.candidate.id == step.base), None)


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
        situation=await situation(session, start.candidate, history_facts(brief.outcomes)),
        answer=rewrite_answer(brief.evaluations),
    )
    job = RewriteJob("apply_step", prompt, start, brief.evaluations, brief.parameters, brief.neutral_from)
    outcome = await develop(session, step, job, policy)
    freeze_settled(session, outcome)
    return outcome


def _introduced(parameters: Mapping[str, Sequence[Value]]) -> str:
    lines = [f"- {name}: {', '.join(map(str, values))}" for name, values in parameters.items()]
    return render("parameters", parameters="\n".join(lines)) if lines else ""


async def situation(session: Effects, candidate: Candidate, history: str = "") -> str:
    """The facts about a candidate as one text for a prompt; its best configuration is profiled for it."""
    best = best_of(session.bench.evaluations_of(candidate))
    profile = NO_PROFILE if best is None else await session.profile(candidate, best.configuration)
    return known_situation(session, candidate, history, profile)


def known_situation(session: Effects, candidate: Candidate, history: str, profile: Profile) -> str:
    """Do as `situation` with what is known.

    Args:
        profile: of the best configuration that is known of the candidate.
    """
    problem = session.problem
    return render(
        "situation",
        device=device_facts(session.bench.device),
        language=problem.language,
        kernel=candidate.kernel,
        source=candidate.source.strip(),
        launch=launch_facts(problem, narrowed(session, candidate)),
        sizes=size_facts(problem),
        measurements=measurement_facts(
            problem,
            session.bench.device,
            session.bench.given,
            session.incumbent.evaluation,
            candidate,
            session.bench.evaluations_of(candidate),
            profile,
            session.bench.library,
        ),
        history=history,
    )


def rewrite_answer(evaluations: int) -> str:
    """What a prompt for a rewritten kernel wants to be answered.

    Args:
        evaluations: how many configurations of it can be measured.
    """
    return render("rewrite_answer", evaluations=max(1, evaluations))
