"""Working on one step: the model writes a kernel, or several, and the best is tuned and timed against the incumbent.

Of several kernels each is asked for by itself, told the ideas of those before: a reply with all of them would be so
many times as long and lost with one fault, where each of several calls is repaired, approved and resumed by itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.format import time_unit, time_words
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.prompts import question, render
from tui_tuner.strategies.base import BudgetSpent, Effects, ModelFailed, StepSkipped
from tui_tuner.strategies.history import Attempt, Outcome, best_of
from tui_tuner.strategies.parameters import freeze_settled, narrowed, search_parameters, space_of
from tui_tuner.strategies.rewriting import StepBrief, step_prompt
from tui_tuner.strategies.rewriting.failures import RetryPolicy, SameKernel, failure_of, failure_of_all
from tui_tuner.strategies.rewriting.line import Line, RewriteJob, challenge_incumbent
from tui_tuner.strategies.steps import Step, StepState

SCREENED = 4
"""Configurations of a kernel that are measured to choose among several, at most."""
SCREENING_SHARE = 2
"""One in so many of a step's evaluations, at most, is spent on choosing; one for each kernel in any case."""
_IDEA = 300
"""Characters of what the model says of a kernel, as the idea that the next ones are not to have."""


async def develop(session: Effects, step: Step, job: RewriteJob, policy: RetryPolicy) -> Outcome:
    """Ask for a kernel until one is accepted, found neutral, or given up; the outcome stands in its step.

    Raises:
        BudgetSpent: before it came to an end.
    """
    step = session.update_step(step.now(StepState.RUNNING))
    try:
        if job.candidates > 1:
            return await _Several(session, step, job, policy).best()
        line = Line(session, step, job, policy, question(job.prompt), step.title)
        outcome = await line.until(_Settling(session, job, job.evaluations))
        return replace(outcome, attempts=tuple(line.attempts))
    except StepSkipped as skipped:
        return Outcome(session.update_step(step.now(StepState.SKIPPED, reason=str(skipped))))
    except BudgetSpent as spent:
        session.update_step(step.now(StepState.SKIPPED, reason=str(spent)))
        raise


@dataclass(frozen=True)
class _Settling:
    """Find the best configuration of a kernel and time it against the incumbent.

    Attributes:
        evaluations: configurations at most.
    """

    session: Effects
    job: RewriteJob
    evaluations: int

    async def __call__(self, step: Step, candidate: Candidate) -> Outcome:
        best = await best_evaluation(self.session, candidate, self.evaluations, self.job.start.configuration)
        step = await challenge_incumbent(self.session, step, candidate, best, self.job.neutral_from)
        return Outcome(step, candidate, best)


@dataclass
class _Several:
    """The kernels of a step of which the best is tuned.

    Attributes:
        lines: those that came to an end, in their order.
    """

    session: Effects
    step: Step
    job: RewriteJob
    policy: RetryPolicy
    lines: list[Line] = field(default_factory=list)

    async def best(self) -> Outcome:
        """The outcome of the one that was fastest when all were screened, once it is tuned; else that of the last."""
        session, before = self.session, self.session.budget.evaluations_left
        for number in range(1, self.job.candidates + 1):
            try:
                outcome = await self._next(number)
            except StepSkipped:
                raise
            except BudgetSpent as spent:
                if self._fastest is None:
                    raise
                session.note(f"no further kernels for this step: {spent}")
                break
            if outcome.step.state is StepState.SKIPPED:
                return self._with_attempts(outcome)
        chosen = self._fastest
        if chosen is None or chosen.outcome.candidate is None:
            return self._with_attempts(self.lines[-1].outcome)
        self._tell_choice(chosen)
        spent_here = max(0, before - session.budget.evaluations_left)
        settle = _Settling(session, self.job, max(1, self.job.evaluations - spent_here))
        return self._with_attempts(await chosen.go_on(chosen.outcome.candidate, settle), last=chosen)

    async def _next(self, number: int) -> Outcome:
        session, count = self.session, self.job.candidates
        step = session.update_step(self.step.now(StepState.RUNNING, reason=f"kernel {number} of {count}"))
        title = f"{step.title} ({number} of {count})"
        job = replace(self.job, may_decline=self.job.may_decline and number == 1)
        line = Line(session, step, job, self.policy, question(self._prompt()), title)
        self.lines.append(line)
        outcome = await line.until(self._screen)
        if outcome.is_right and outcome.step.state is StepState.RUNNING:
            line.mark(f"right, {_time(line)} when screened")
        session.note(f"{title}: {line.attempts[-1].fate if line.attempts else outcome.step.reason}")
        return outcome

    def _prompt(self) -> str:
        """The first asks as for one kernel alone, so that the others begin with the same words."""
        ideas = [attempt.said[:_IDEA] for line in self.lines for attempt in line.attempts[-1:]]
        if not ideas:
            return self.job.prompt
        return f"{self.job.prompt}\n\n{render('another_idea', ideas=_listed(ideas))}"

    async def _screen(self, step: Step, candidate: Candidate) -> Outcome:
        """Measure a few configurations, as many of each kernel."""
        known = [line.outcome.candidate for line in self.lines[:-1]]
        if any(other is not None and other.id == candidate.id for other in known):
            raise SameKernel
        few = max(1, min(SCREENED, self.job.evaluations // (SCREENING_SHARE * self.job.candidates)))
        best = await screened(self.session, candidate, few, self.job.start.configuration)
        return Outcome(step, candidate, best)

    @property
    def _fastest(self) -> Line | None:
        """The one that was fastest when it was screened; None where none is right."""
        right = [line for line in self.lines if line.outcome.is_right and line.outcome.step.state is StepState.RUNNING]
        return min(right, key=_milliseconds, default=None)

    def _tell_choice(self, chosen: Line) -> None:
        """Say which is tuned, and of the others why not."""
        time = _time(chosen)
        for line in self.lines:
            if line is not chosen and line.outcome.is_right:
                line.mark(f"{line.attempts[-1].fate}; another one with {time} was tuned")
        number = self.lines.index(chosen) + 1
        self.session.note(f"{self.step.title}: kernel {number} of {len(self.lines)} is tuned, {time} when screened")

    def _with_attempts(self, outcome: Outcome, last: Line | None = None) -> Outcome:
        """The outcome with all kernels of the step, those of its own line at the end."""
        others = [line for line in self.lines if line is not last]
        return replace(outcome, attempts=tuple(_attempts([*others, last] if last else others)))


def _attempts(lines: Iterable[Line]) -> Iterable[Attempt]:
    return (attempt for line in lines for attempt in line.attempts)


def _milliseconds(line: Line) -> float:
    best = line.outcome.best
    return float("inf") if best is None or best.ms is None else best.ms


def _time(line: Line) -> str:
    best = line.outcome.best
    if best is None or best.timing is None:
        raise RuntimeError("a kernel that was screened as right has a time")
    return time_words(best.timing.median, time_unit(cpu=best.timing.cpu))


def _listed(ideas: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(idea.split())}" for idea in ideas)


async def carry_out(session: Effects, step: Step, brief: StepBrief, policy: RetryPolicy) -> Outcome:
    """Let the model rewrite a kernel as a step says, until it is accepted, neutral or given up.

    Raises:
        BudgetSpent: before it came to an end.
    """
    job = RewriteJob(
        "apply_step",
        await step_prompt(session, step, brief),
        brief.start,
        brief.evaluations,
        brief.parameters,
        brief.neutral_from,
        candidates=brief.candidates,
        may_decline=brief.may_decline,
    )
    outcome = await develop(session, step, job, policy)
    freeze_settled(session, outcome)
    return outcome


async def best_evaluation(session: Effects, candidate: Candidate, evaluations: int, start: Configuration) -> Evaluation:
    """The best evaluation of a candidate: its default configuration first, then a search.

    Args:
        evaluations: configurations at most.
        start: values that were best for another kernel; tried as well where they are valid for this one.

    Raises:
        CandidateFailed: no configuration passes the checks.
        BudgetSpent: before anything is known of it.
    """
    await _begin(session, candidate, start, carry=evaluations > 2)
    try:
        best = await search_parameters(session, candidate, evaluations - 1)
    except ModelFailed as failed:  # it was to choose configurations; the step goes on with what is measured
        session.note(f"the search of the parameters ends: {failed}", warning=True)
        best = best_of(session.bench.evaluations_of(candidate))
    return _right(session, candidate, best)


async def screened(session: Effects, candidate: Candidate, evaluations: int, start: Configuration) -> Evaluation:
    """The best of a few configurations, without a search: the default one, that of another kernel, others at random.

    Raises:
        CandidateFailed: none of them passes the checks.
        BudgetSpent: before anything is known of it.
    """
    await _begin(session, candidate, start, carry=evaluations > 1)
    more = evaluations - len(session.bench.evaluations_of(candidate))
    if more > 0:
        again = random.Random(session.seed)  # noqa: S311 - it is to be the same again
        await session.evaluate(candidate, space_of(session, narrowed(session, candidate)).sample(more, again))
    return _right(session, candidate, best_of(session.bench.evaluations_of(candidate)))


async def _begin(session: Effects, candidate: Candidate, start: Configuration, *, carry: bool) -> None:
    """Evaluate the default configuration, and that with the values of another kernel where they are to be carried over.

    Raises:
        CandidateFailed: all other configurations would fail as the default one does.
    """
    searched = narrowed(session, candidate)
    default = searched.default_configuration
    first = (await session.evaluate(candidate, [default]))[0]
    if first.failure is not None and first.failure.kind.is_shared:
        raise failure_of(first)
    carried = {**default, **{name: value for name, value in start.items() if name in default}}
    if carry and space_of(session, searched).is_valid(carried) is None:
        await session.evaluate(candidate, [carried])


def _right(session: Effects, candidate: Candidate, best: Evaluation | None) -> Evaluation:
    if best is None:
        raise failure_of_all(session.bench.evaluations_of(candidate))
    return best
