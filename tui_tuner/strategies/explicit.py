"""Strategy `explicit`: the steps of a list, in their order; the model says of each if it is worth doing, then does it.

    next step whose dependencies are settled --none--> end
        v
    dependency refused or rejected, or not for this device --yes--> skipped
        v
    worth doing here? --no--> skipped, and those behind it of which the model says the same
        v
    carry out: rewrite, check, measure --> accepted | neutral | rejected

Each arrow stands in `docs/strategies.md`. The control flow and 15 of the default steps follow the explicit strategy
of LLM Kernel Tuner (N. Zelenskis, LIACS, Leiden University, 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.tuning_step import TuningStep, faults_of_steps
from tui_tuner.prompts import question, render
from tui_tuner.strategies.base import Effects, ModelFailed, StepSkipped
from tui_tuner.strategies.history import UNANSWERED, Outcome, history_facts
from tui_tuner.strategies.rewriting import (
    ENABLING_FROM,
    StartingPoint,
    StepBrief,
    best_so_far,
    kernel_of,
    situation,
    wanted_start,
)
from tui_tuner.strategies.rewriting.development import carry_out
from tui_tuner.strategies.single_step import ModelStrategy, nearness, share_of, tune_baseline_first, tune_incumbent_last
from tui_tuner.strategies.step_lists import default_steps, steps_prompt, unfit
from tui_tuner.strategies.steps import Step, StepState

AHEAD = 4
"""Steps that follow and are judged together with one, as none of them changes the kernel where it is skipped."""
_ONE_BY_ONE_UP_TO = 10
"""Sessions that began with a wording up to this ask of each step by itself, however fast the best is."""


_JudgedOn: TypeAlias = tuple[int, str, str, str]
"""Of a step: its id, the kernel's, and its words, which the user may change."""


class WorthReply(BaseModel):
    """Whether a step is worth doing; what is done already is not."""

    model_config = ConfigDict(extra="forbid")

    worth_doing: bool
    already_done: bool
    reason: str


class FurtherSkip(BaseModel):
    """A step that follows and is not worth doing either."""

    model_config = ConfigDict(extra="forbid")

    step: str
    already_done: bool
    reason: str


class WorthReplyAhead(WorthReply):
    """Whether a step is worth doing; what is done already is not."""

    further: list[FurtherSkip] = Field(default_factory=list)


class ExplicitStrategy(ModelStrategy):
    """A list of steps, each judged by the model, then carried out.

    Attributes:
        steps: None for those of the problem file, or the default ones where it has none.
        keep_neutral: whether the kernel of a step that others depend on is kept though it is not faster.
        stop_at: share of the roofline of memory, without `[work]` of moving each array once, at which the best is good
            enough: no step is judged any more.
    """

    steps: list[TuningStep] | None = None
    keep_neutral: bool = True
    stop_at: float = Field(default=0.98, gt=0.0)

    @field_validator("steps")
    @classmethod
    def _sound(cls, steps: list[TuningStep] | None) -> list[TuningStep] | None:
        faults = faults_of_steps(steps or [])
        if faults:
            raise ValueError("; ".join(faults))
        return steps

    async def run(self, session: Effects) -> None:
        """Work through the list; the incumbent is always the best that was found."""
        await tune_baseline_first(session)
        work, problem = _StepListRun(self, session), session.problem
        for tuning in self.steps or problem.steps or default_steps(compiled=problem.is_compiled):
            work.propose(tuning)
        while steps := session.proposed_steps():
            await work.do(work.first_ready(steps), to_come=len(steps) - 1)
        await tune_incumbent_last(session)


@dataclass(frozen=True)
class _StepRecord:
    """What came of a step of the list, and the incumbent's kernel at that time.

    Attributes:
        before: whether the kernel did it before the step, so that others can depend on it.
    """

    outcome: Outcome
    incumbent: str
    before: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the kernel does what the step wants."""
        return self.helped or self.outcome.step.state is StepState.NEUTRAL

    @property
    def helped(self) -> bool:
        """Whether the kernel does it and is faster for it, or did it before."""
        return self.before or self.outcome.step.state is StepState.ACCEPTED


@dataclass
class _StepListRun:
    """The list while it is worked through.

    Attributes:
        tunings: what the list says of a step, by the id that it has in the plan.
        outcomes: what came of the steps so far, in their order.
        done: what came of the steps of the list, by the id that they have there.
        skips: why steps are to be skipped that were judged with one before them, by what they were judged on.
    """

    strategy: ExplicitStrategy
    session: Effects
    tunings: dict[int, TuningStep] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    done: dict[str, _StepRecord] = field(default_factory=dict)
    skips: dict[_JudgedOn, WorthReply] = field(default_factory=dict)

    def propose(self, tuning: TuningStep) -> None:
        """Show a step of the list in the plan."""
        step = self.session.add_step(tuning.id.replace("_", " "), tuning.prompt_template)
        self.tunings[step.id] = tuning

    def first_ready(self, steps: Sequence[Step]) -> Step:
        """The first step that waits for none that is still to come."""
        to_come = {self.tunings[step.id].id for step in steps if step.id in self.tunings}
        return next(step for step in steps if to_come.isdisjoint(self._waits_for(step)))

    def _waits_for(self, step: Step) -> list[str]:
        return self.tunings[step.id].waits_for if step.id in self.tunings else []

    async def do(self, step: Step, to_come: int) -> None:
        """Judge a step and carry it out; a step of the user's own is carried out as it is."""
        own = TuningStep(id=f"step {step.id}", prompt_template=step.title, skip_evaluation=True)
        tuning = self.tunings.get(step.id, own)
        ended = self._settled(step, tuning) or await self._judged(step, tuning)
        if ended is not None:
            self.session.update_step(ended.outcome.step)
        else:
            outcome = await self._carry_out(step, tuning, to_come)
            ended = _StepRecord(outcome, self.session.incumbent.candidate.id)
        self.outcomes.append(ended.outcome)
        self.done[tuning.id] = ended

    def _skipped(self, step: Step, reason: str, *, before: bool = False) -> _StepRecord:
        skipped = step.now(StepState.SKIPPED, reason=reason)
        return _StepRecord(Outcome(skipped), self.session.incumbent.candidate.id, before)

    def _settled(self, step: Step, tuning: TuningStep) -> _StepRecord | None:
        """The step as skipped, if it cannot be done here or is done already."""
        reason = unfit(tuning, self.session.problem, self.session.bench.device)
        for needed in tuning.depends_on:
            done = self.done.get(needed)
            if done is None:
                reason = reason or f"it needs '{needed}', which was deleted by hand"
            elif not done.is_met:
                reason = reason or f"it needs '{needed}', which was {done.outcome.step.state.value}"
        for other in tuning.unless:
            if other in self.done and self.done[other].helped:
                reason = reason or f"it is for where '{other}' does not help, which did"
        if reason is not None:
            return self._skipped(step, reason)
        base = self._start(tuning).candidate
        known = [name for name in tuning.tune_params if name in base.tunables]
        names = ", ".join(known)
        if known and tuning.skip_evaluation:
            self.session.note(f"{tuning.id}: its values of {names} replace those that the kernel has")
        elif known and len(known) == len(tuning.tune_params):
            return self._skipped(step, f"done already: the kernel has {names}", before=True)
        return None

    async def _judged(self, step: Step, tuning: TuningStep) -> _StepRecord | None:
        """The step as skipped, if the model thinks that it is not worth doing here."""
        if tuning.skip_evaluation:
            return None
        if self._looks_ahead and (near := nearness(self.session, self.strategy.stop_at)):
            return self._skipped(step, near)
        base = self._start(tuning).candidate
        try:
            reply = self.skips.get(self._judged_on(step, base)) or await self._ask(step, base)
        except ModelFailed as failed:
            rejected = step.now(StepState.REJECTED, reason=f"could not be judged: {failed}")
            return _StepRecord(Outcome(rejected, told=UNANSWERED), self.session.incumbent.candidate.id)
        except StepSkipped as skipped:
            return self._skipped(step, str(skipped))
        if reply.already_done:
            return self._skipped(step, f"done already: {reply.reason}", before=True)
        if not reply.worth_doing:
            return self._skipped(step, f"not worth doing here: {reply.reason}")
        self.session.update_step(step.now(StepState.VALIDATED))
        return None

    async def _ask(self, step: Step, base: Candidate) -> WorthReply:
        """Whether a step is worth doing, and if it is not which of those right behind it are not either."""
        coming = self._coming(step, base) if self._looks_ahead else []
        prompt = render(
            "worth_step",
            title=step.title,
            description=self._description(step, base),
            situation=await situation(self.session, base, history_facts(self.outcomes)),
            **self._told_of(coming, base),
        )
        form = WorthReplyAhead if coming else WorthReply
        reply = await self.session.ask("worth_step", question(prompt), form, lambda _: [])
        if isinstance(reply, WorthReplyAhead) and not reply.worth_doing:
            for other, skip in zip(coming, reply.further, strict=False):
                if skip.step != self.tunings[other.id].id:
                    break
                verdict = WorthReply(worth_doing=False, already_done=skip.already_done, reason=skip.reason)
                self.skips[self._judged_on(other, base)] = verdict
        return reply

    @property
    def _looks_ahead(self) -> bool:
        return self.session.wording > _ONE_BY_ONE_UP_TO

    def _coming(self, step: Step, base: Candidate) -> list[Step]:
        """The steps behind one that will be judged on the same kernel if it is skipped."""
        coming = list[Step]()
        for other in self.session.proposed_steps():
            tuning = self.tunings.get(other.id)
            if tuning is None or tuning.skip_evaluation or len(coming) == AHEAD:
                break
            if other.id != step.id and self._settled(other, tuning) is None:
                if self._start(tuning).candidate.id != base.id:
                    break
                coming.append(other)
        return coming

    def _told_of(self, coming: Sequence[Step], base: Candidate) -> dict[str, str]:
        if not coming:
            return {"coming": "", "further": ""}
        texts = ((self.tunings[other.id].id, self._description(other, base)) for other in coming)
        steps = "\n".join(f'<step id="{name}">\n{text}\n</step>' for name, text in texts)
        return {"coming": f"\n{render('steps_behind', steps=steps)}\n", "further": render("further_skips")}

    def _judged_on(self, step: Step, base: Candidate) -> _JudgedOn:
        return step.id, base.id, step.title, self._description(step, base)

    async def _carry_out(self, step: Step, tuning: TuningStep, to_come: int) -> Outcome:
        start = wanted_start(self.session, step, self.outcomes) or self._start(tuning)
        brief = StepBrief(
            start,
            share_of(self.session, to_come),
            self.outcomes,
            self._description(step, start.candidate),
            tuning.tune_params,
            neutral_from=ENABLING_FROM if self.strategy.keep_neutral and self._enables(tuning) else None,
            candidates=self.strategy.candidates,
        )
        return await carry_out(self.session, step, brief, self.strategy.retry_policy)

    def _description(self, step: Step, base: Candidate) -> str:
        return steps_prompt(step.detail or step.title, kernel=base.source, name=base.kernel)

    def _enables(self, tuning: TuningStep) -> bool:
        return any(tuning.id in other.depends_on for other in self.tunings.values())

    def _start(self, tuning: TuningStep) -> StartingPoint:
        """The kernel that a step starts from: one that was kept for it while the best is the same, or the best."""
        best = best_so_far(self.session)
        for done in (self.done[needed] for needed in reversed(tuning.depends_on)):
            known = kernel_of(done.outcome)
            neutral = done.outcome.step.state is StepState.NEUTRAL and done.incumbent == best.candidate.id
            if neutral and known is not None:
                return known
        return best
