"""Strategy `autonomous`: the model plans, each step is carried out and measured, and the plan is revised.

    plan -> next step? --no--> replan? --no--> end
                |                 ^ |yes
                v                 |  -> next step
            validate --no--> dropped              (only where that is asked for)
                v
            break down --yes--> parts go to the front
                v
            carry out: rewrite, check, measure --> accepted | neutral | rejected

Each arrow stands in `docs/strategies.md`. The control flow follows "plan and solve" of LLM Kernel Tuner
(N. Zelenskis, LIACS, Leiden University, 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field

from tui_tuner.strategies.base import ATTEMPTS, BudgetSpent, Effects, ModelFailed, StepSkipped
from tui_tuner.strategies.history import UNANSWERED, Outcome
from tui_tuner.strategies.planning import (
    PartReply,
    PlannedStep,
    PlanReply,
    ask_for_parts,
    ask_for_plan,
    ask_if_valid,
)
from tui_tuner.strategies.rewriting import (
    ENABLING_FROM,
    StartingPoint,
    StepBrief,
    best_so_far,
    kernel_of,
    wanted_start,
)
from tui_tuner.strategies.rewriting.development import carry_out
from tui_tuner.strategies.single_step import (
    AdvisedStrategy,
    nearness,
    share_of,
    tune_baseline_first,
    tune_incumbent_last,
)
from tui_tuner.strategies.step_lists import techniques, with_named_technique
from tui_tuner.strategies.steps import ApprovalLevel, Decision, Step, StepState

_ASKED_ON_UP_TO = 3
"""Sessions that began with a wording up to this go on when the best is at the roofline."""
_VALIDATED_UP_TO = 8
"""Sessions that began with a wording up to this validate each step, whatever is chosen."""


class AutonomousStrategy(AdvisedStrategy):
    """The model plans; each step is carried out and measured; the plan is revised.

    Attributes:
        with_replanning: whether to ask for further steps once the plan is worked through.
        validate_steps: whether the model judges each of its own steps before it is carried out, in a call of its own.
        breakdown_steps: whether steps that are too large are broken down.
        max_breakdowns: how often a step, and then its parts, may be broken down.
        max_replanning: further plans at most.
        keep_neutral: whether the kernel of an enabling step is kept for its successors though it is not faster.
        stop_at: share of the roofline of memory, without `[work]` of moving each array once, at which the best is good
            enough: no step of the model's is begun.
    """

    with_replanning: bool = True
    validate_steps: bool = False
    breakdown_steps: bool = False
    max_breakdowns: int = Field(default=1, ge=0)
    max_replanning: int = Field(default=3, ge=0)
    keep_neutral: bool = True
    stop_at: float = Field(default=0.98, gt=0.0)

    async def run(self, session: Effects) -> None:
        """Plan, work through the plan, plan again; the incumbent is always the best that was found."""
        if self.max_breakdowns > 1 and not self.breakdown_steps:
            session.note("max_breakdowns changes nothing: set breakdown_steps too", warning=True)
        await tune_baseline_first(session)
        work = _PlanRun(self, session)
        planned, replanned = await work.plan("Make a plan"), 0
        while True:
            work.leave_what_gains_nothing()
            steps = session.proposed_steps()
            if steps:
                await work.do(steps[0], to_come=len(steps) - 1)
            elif planned and self.with_replanning and replanned < self.max_replanning:
                planned, replanned = await work.plan("Plan again"), replanned + 1
            else:
                break
        if near := work.nearness:
            session.note(f"nothing further is planned: {near}")
        await tune_incumbent_last(session)


@dataclass(frozen=True)
class _Intent:
    """What the model said of a step besides its words.

    Attributes:
        broken_down: how often it, or what it is a part of, was broken down.
    """

    enabling: bool = False
    builds_on: int = 0
    broken_down: int = 0


@dataclass
class _PlanRun:
    """The plan while it is worked through.

    Attributes:
        outcomes: what came of the steps so far, in their order.
        kept: the outcome of the enabling step just before, if its kernel is kept for the next one.
        told: ids of the techniques that plans were told of.
    """

    strategy: AutonomousStrategy
    session: Effects
    outcomes: list[Outcome] = field(default_factory=list)
    proposed: dict[int, Step] = field(default_factory=dict)
    intents: dict[int, _Intent] = field(default_factory=dict)
    broken_down: set[int] = field(default_factory=set)
    kept: Outcome | None = None
    told: set[str] = field(default_factory=set)

    async def plan(self, title: str) -> bool:
        """Ask for a plan and put it to the user, again if they say what is wrong with it; False if there is none."""
        if self.nearness:
            return False
        session, remarks = self.session, list[str]()
        step = session.add_step(title)
        for _ in range(ATTEMPTS):
            step = session.update_step(step.now(StepState.RUNNING))
            try:
                told = await techniques(session, session.incumbent.candidate, self.strategy.techniques)
                self.told |= told.ids
                reply = await ask_for_plan(session, self._so_far(), remarks, told, first=not self.outcomes)
            except ModelFailed as failed:
                session.update_step(step.now(StepState.REJECTED, reason=str(failed)))
                return False
            except BudgetSpent as spent:
                session.update_step(step.now(StepState.SKIPPED, reason=str(spent)))
                if isinstance(spent, StepSkipped):
                    return False
                raise
            if not reply.steps:
                session.update_step(step.now(StepState.DONE, reason=f"nothing left to try: {reply.summary}"))
                return False
            decision = await self._put_to_user(step, reply)
            if decision.action == "approve":
                session.update_step(step.now(StepState.DONE, detail=reply.summary))
                return True
            if not decision.message:
                break
            remarks.append(decision.message)
        session.update_step(step.now(StepState.SKIPPED, reason="plan not wanted"))
        return False

    async def _put_to_user(self, step: Step, reply: PlanReply) -> Decision:
        """Show the planned steps and ask; those of a plan that is not wanted are taken back."""
        steps = [self._propose(planned) for planned in reply.steps]
        decision = await self.session.approve(step, rationale=reply.summary, about=ApprovalLevel.PLAN)
        if decision.action != "approve":
            reason = f"plan rejected by hand: {decision.message}" if decision.message else "plan not wanted"
            for proposed in steps:
                self.session.update_step(proposed.now(StepState.SKIPPED, reason=reason))
                del self.proposed[proposed.id]
        return decision

    def _propose(self, planned: PlannedStep) -> Step:
        step = self.session.add_step(planned.title, planned.description)
        self.proposed[step.id] = step
        self.intents[step.id] = _Intent(planned.enabling, planned.builds_on)
        return step

    @property
    def nearness(self) -> str:
        """How near the best is to the roofline, in words, where that is good enough; else empty."""
        return nearness(self.session, self.strategy.stop_at) if self.session.wording > _ASKED_ON_UP_TO else ""

    def leave_what_gains_nothing(self) -> None:
        """Leave the steps of the model's plan where the best is good enough; the user's own are done."""
        near = self.nearness
        for step in self.session.proposed_steps() if near else ():
            if not step.by_user:
                self._ends(step.now(StepState.SKIPPED, reason=near))

    def _so_far(self) -> list[Outcome]:
        """What came of the steps, those that the user deleted included: they are not to be planned again."""
        known = {outcome.step.id for outcome in self.outcomes}
        gone = [step for step in self.proposed.values() if step.id not in known and step.id not in self.broken_down]
        return [*self.outcomes, *(Outcome(step.now(StepState.SKIPPED, reason="deleted by hand")) for step in gone)]

    async def do(self, step: Step, to_come: int) -> None:
        """Carry a step out, or break it down; validate it before where that is wanted."""
        intent = self.intents.get(step.id, _Intent())
        if step.by_user or not self._is_judged(intent) or await self._is_valid(step, intent):
            await self._carry_out(step, intent, to_come)

    def _is_judged(self, intent: _Intent) -> bool:
        wanted = self.strategy.validate_steps or self.session.wording <= _VALIDATED_UP_TO
        return wanted or self._may_break(intent)

    def _may_break(self, intent: _Intent) -> bool:
        return self.strategy.breakdown_steps and intent.broken_down < self.strategy.max_breakdowns

    async def _is_valid(self, step: Step, intent: _Intent) -> bool:
        """Whether to carry a step out: not if it is no tuning step, and not if its parts are to be instead."""
        session = self.session
        ask = ask_for_parts if self._may_break(intent) else ask_if_valid
        try:
            reply = await ask(session, step, self._start(intent).candidate, self.outcomes)
        except ModelFailed as failed:
            self._ends(step.now(StepState.REJECTED, reason=f"could not be validated: {failed}"), told=UNANSWERED)
            return False
        except StepSkipped as skipped:
            self._ends(step.now(StepState.SKIPPED, reason=str(skipped)))
            return False
        if not reply.valid:
            self._ends(step.now(StepState.SKIPPED, reason=f"no tuning step: {reply.reason}"))
            return False
        parts = getattr(reply, "steps", [])
        if not parts:
            session.update_step(step.now(StepState.VALIDATED))
            return True
        session.update_step(step.now(StepState.BROKEN_DOWN, reason=reply.reason))
        self.broken_down.add(step.id)
        self._add_parts(step, intent, parts)
        return False

    def _add_parts(self, step: Step, intent: _Intent, parts: Sequence[PartReply]) -> None:
        """Put the parts of a step behind it; all but the last are there for their successors."""
        before = step
        for number, part in enumerate(parts, start=1):
            before = self.session.add_step(part.title, part.description, after=before)
            last = number == len(parts)
            builds_on = intent.builds_on if number == 1 else 0
            self.proposed[before.id] = before
            self.intents[before.id] = _Intent(not last or intent.enabling, builds_on, intent.broken_down + 1)

    def _ends(self, step: Step, told: str | None = None) -> None:
        self.outcomes.append(Outcome(self.session.update_step(step), told=told))

    async def _carry_out(self, step: Step, intent: _Intent, to_come: int) -> None:
        start = wanted_start(self.session, step, self.outcomes) or self._start(intent)
        brief = StepBrief(
            start,
            share_of(self.session, to_come),
            self.outcomes,
            with_named_technique(self.session, step, start.candidate, self.strategy.techniques, self.told),
            neutral_from=ENABLING_FROM if intent.enabling and self.strategy.keep_neutral else None,
            candidates=self.strategy.candidates,
            may_decline=not step.by_user,
        )
        outcome = await carry_out(self.session, step, brief, self.strategy.retry_policy)
        self.outcomes.append(outcome)
        self.kept = outcome if outcome.step.state is StepState.NEUTRAL else None

    def _start(self, intent: _Intent) -> StartingPoint:
        """The kernel that a step starts from: the one it names, one that was kept for it, or the best."""
        named = next((outcome for outcome in self.outcomes if outcome.step.id == intent.builds_on), self.kept)
        known = None if named is None else kernel_of(named)
        return known or best_so_far(self.session)
