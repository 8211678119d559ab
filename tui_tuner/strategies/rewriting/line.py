"""One line of kernels that the model writes for a step, and what becomes of each: tuned, timed against the incumbent.

For each but the first the model is told what was wrong before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.evaluate.results import Comparison, Evaluation, Failure
from tui_tuner.llm import Message
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Value
from tui_tuner.strategies.base import Effects, ModelFailed, ask_and_read
from tui_tuner.strategies.history import UNANSWERED, Attempt, Outcome, fate_of
from tui_tuner.strategies.parameters import unfreeze
from tui_tuner.strategies.rewriting import StartingPoint
from tui_tuner.strategies.rewriting.failures import (
    BuildFailed,
    CandidateFailed,
    NotFaster,
    Rejected,
    RetryPolicy,
    failure_of,
)
from tui_tuner.strategies.rewriting.faults import CheckedRewrite, read_rewrite
from tui_tuner.strategies.rewriting.rewrite import Declined, RewriteContext, RewriteReply, TritonReply, reply_type
from tui_tuner.strategies.steps import EditedAgain, Step, StepState, as_wanted

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
    reason = _too_small(session) if comparison.low > 1 else "not faster than the best so far"
    if is_same:
        reason = "the compiler makes the same machine code of it as of the best so far"
    raise NotFaster(reason, best, factor)


def _too_small(session: Effects) -> str:
    least = 1 + session.bench.least_gain
    return f"the gain is too small to count: its whole interval must lie above {least:g}"


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


_MENDED_UP_TO = 7
"""Sessions that began with a wording up to this put an edit that cannot be built back to the model at once."""
_EDIT_AGAIN = "Your edit cannot be built: {}. Edit it again, or approve it to have the model mend it."

Settle = Callable[[Step, Candidate], Awaitable[Outcome]]
"""Finds out what a kernel is worth for a step.

Raises:
    CandidateFailed: it is not what is wanted, and the model may be told why.
"""


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
        candidates: kernels that are asked for, of which the best is tuned.
        may_decline: whether a reply without code says that it is not worth doing.
    """

    purpose: str
    prompt: str
    start: StartingPoint
    evaluations: int
    parameters: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    neutral_from: float | None = None
    puts_back_slow: bool = False
    candidates: int = 1
    may_decline: bool = False


class Line:
    """What the model writes in one conversation.

    Args:
        messages: the question.
        title: of its kernels.

    Attributes:
        outcome: of the last kernel.
        attempts: the kernels so far.
    """

    def __init__(
        self, session: Effects, step: Step, job: RewriteJob, policy: RetryPolicy, messages: list[Message], title: str
    ) -> None:
        self.outcome = Outcome(step)
        self.attempts: list[Attempt] = []
        self._session = session
        self._step = step
        self._job = job
        self._policy = policy
        self._messages = messages
        self._title = title
        self._context = _context(session, job)
        self._left = policy.attempts
        self._last = 0
        self._reply: RewriteReply | TritonReply | None = None

    async def until(self, settle: Settle) -> Outcome:
        """Ask until a kernel is settled, the user skips it, or none is asked for any more."""
        session = self._session
        self._last = session.budget.model_calls + self._left
        while True:
            try:
                rewrite = await self._ask(self._last - session.budget.model_calls)
            except ModelFailed as failed:
                return self._given_up(str(failed))
            if isinstance(rewrite, Declined):
                return self._declined(rewrite.reason)
            self._reply = rewrite.reply
            unfreeze(session, rewrite.candidate, rewrite.searched)
            outcome = await self._decided(rewrite.candidate, rewrite.reply.summary, settle)
            if outcome is not None:
                return outcome

    async def go_on(self, candidate: Candidate, settle: Settle) -> Outcome:
        """Settle the last kernel in another way, and ask for further ones where that fails."""
        self._last = self._session.budget.model_calls + self._left
        try:
            outcome = await self._tried(candidate, settle)
        except CandidateFailed as failed:
            return self._failed(candidate, failed) or await self.until(settle)
        return outcome

    def mark(self, fate: str) -> None:
        """Say otherwise what came of the last kernel."""
        self.attempts[-1] = replace(self.attempts[-1], fate=fate)

    async def _decided(self, candidate: Candidate, words: str, settle: Settle) -> Outcome | None:
        """What came of a kernel as the user wants it; None where it is put back to the model.

        An edit that cannot be built is put to the user again, who approves it to have the model mend it.
        """
        session = self._session

        async def tried(candidate: Candidate) -> Outcome | None:
            try:
                return await self._tried(candidate, settle)
            except BuildFailed:
                raise
            except CandidateFailed as failed:
                return self._failed(candidate, failed)

        again = EditedAgain(BuildFailed, _EDIT_AGAIN, asks=session.wording > _MENDED_UP_TO)
        wanted = await as_wanted(
            lambda source, said: session.approve(self._step, source, said), candidate, words, tried, again
        )
        if wanted.decision.action == "skip":
            skipped = session.update_step(self._step.now(StepState.SKIPPED, reason="skipped by hand"))
            return self._keep(Outcome(skipped, wanted.source), fate_of(skipped))
        if wanted.decision.action == "reject":
            return self._failed(wanted.source, Rejected(wanted.decision.message))
        return wanted.result if wanted.fault is None else self._failed(wanted.source, wanted.fault)

    async def _tried(self, candidate: Candidate, settle: Settle) -> Outcome:
        """What came of a kernel.

        Raises:
            CandidateFailed: it is not what is wanted.
        """
        self._step = self._session.update_step(self._step.now(StepState.RUNNING))
        outcome = await settle(self._step, candidate)
        return self._keep(outcome, fate_of(outcome.step))

    def _failed(self, candidate: Candidate, failed: CandidateFailed) -> Outcome | None:
        """What came of a kernel that failed; None where it is put back to the model."""
        session = self._session
        outcome = Outcome(rejected(session, self._step, failed), candidate, failed.best, told=failed.reason)
        self._keep(outcome, failed.in_history)
        final = isinstance(failed, NotFaster) and not self._job.puts_back_slow
        if session.budget.model_calls >= self._last or final or not self._policy.puts_back(failed):
            return outcome
        self._put_back(candidate, failed)
        return None

    def _keep(self, outcome: Outcome, fate: str) -> Outcome:
        """Remember what came of the last kernel, and how often the model may still be asked for another."""
        self.outcome, self._left = outcome, self._last - self._session.budget.model_calls
        if outcome.candidate is not None and self._reply is not None:
            if self.attempts and self.attempts[-1].candidate == outcome.candidate:
                self.attempts.pop()
            self.attempts.append(Attempt(outcome.candidate, self._job.start.candidate, self._reply.summary, fate))
        return outcome

    def _put_back(self, candidate: Candidate, failed: CandidateFailed) -> None:
        if self._reply is None:
            raise RuntimeError("there is no reply to put back")
        code = self._context.dialect.answered(candidate.source)
        said = self._reply.model_copy(update={"code": code}).model_dump_json()
        told = "\n".join(filter(None, [self._policy.message(failed), self._fewer_left()]))
        self._messages += [Message("assistant", said), Message("user", told)]
        self._step = self._session.update_step(
            self._step.now(StepState.RUNNING, reason=f"asked again: {failed.reason}")
        )

    def _fewer_left(self) -> str:
        """How many configurations can be measured, where these are fewer than the model was told; else empty."""
        left = self._session.budget.evaluations_left
        if left >= self._job.evaluations:
            return ""
        return f"Configurations of the new kernel that can still be measured: {left}."

    def _given_up(self, reason: str) -> Outcome:
        """The model gave no further kernel; the failure of the last one is told as well."""
        last, known = self.outcome.step, self.outcome.step.reason
        given_up = last.now(
            StepState.REJECTED, reason=f"{known}; then {reason}" if known else reason, factor=last.factor
        )
        told = self.outcome.told or known or UNANSWERED
        self.outcome = replace(self.outcome, step=self._session.update_step(given_up), told=told)
        return self.outcome

    def _declined(self, reason: str) -> Outcome:
        """The model does not think the step worth doing, or gives up on it where a kernel of it failed."""
        if self.attempts:
            return self._given_up(f"the model leaves it at that: {reason}")
        skipped = self._step.now(StepState.SKIPPED, reason=f"not worth doing: {reason}")
        self.outcome = Outcome(self._session.update_step(skipped))
        return self.outcome

    async def _ask(self, attempts: int) -> CheckedRewrite | Declined:
        session, purpose, messages = self._session, self._job.purpose, self._messages
        answered = reply_type(session.problem)
        return await ask_and_read(lambda check: session.ask(purpose, messages, answered, check, attempts), self._read)

    def _read(self, reply: RewriteReply | TritonReply) -> CheckedRewrite | Declined:
        if self._job.may_decline and not reply.code.strip():
            return Declined(reply.summary)
        return read_rewrite(reply, self._context, self._title)


def _context(session: Effects, job: RewriteJob) -> RewriteContext:
    start, limit = job.start, session.bench.device.max_threads_per_block
    return RewriteContext(session.problem, start.candidate, start.configuration, limit, job.parameters, session.frozen)
