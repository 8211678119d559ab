"""Working on one step: the model is told and rewrites, the machine builds, checks and times, the session decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.llm import Message
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Value
from tui_tuner.prompts import question
from tui_tuner.strategies.base import BudgetSpent, Effects, ModelFailed, StepSkipped, ask_and_read
from tui_tuner.strategies.history import UNANSWERED, Outcome
from tui_tuner.strategies.parameters import freeze_settled, unfreeze
from tui_tuner.strategies.rewriting.brief import StartingPoint, StepBrief, step_prompt
from tui_tuner.strategies.rewriting.failures import CandidateFailed, NotFaster, Rejected, RetryPolicy
from tui_tuner.strategies.rewriting.faults import CheckedRewrite, read_rewrite
from tui_tuner.strategies.rewriting.rewrite import RewriteContext, RewriteReply
from tui_tuner.strategies.rewriting.settling import best_evaluation, challenge_incumbent, rejected
from tui_tuner.strategies.steps import Decision, Step, StepState


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


async def carry_out(session: Effects, step: Step, brief: StepBrief, policy: RetryPolicy) -> Outcome:
    """Let the model rewrite a kernel as a step says, until it is accepted, neutral or given up.

    Raises:
        BudgetSpent: before it came to an end.
    """
    prompt = step_prompt(session, step, brief)
    job = RewriteJob("apply_step", prompt, brief.start, brief.evaluations, brief.parameters, brief.neutral_from)
    outcome = await develop(session, step, job, policy)
    freeze_settled(session, outcome)
    return outcome
