"""What is asked of a model for a plan: its steps, whether one is a tuning step, and its parts."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import Candidate
from tui_tuner.prompts import means_facts, question, render
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.history import Outcome, facts_from_memory, history_facts
from tui_tuner.strategies.rewriting import situation
from tui_tuner.strategies.step_lists import ToldTechniques
from tui_tuner.strategies.steps import Step

_LINES = "\n"
MOST_STEPS = 6
"""Steps of one plan, and parts of one step."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PlannedStep(_Reply):
    """A step as planned; the fields are explained in the prompt."""

    title: str
    description: str
    enabling: bool
    builds_on: int


class PlanReply(_Reply):
    """A plan; without steps where nothing is left that is worth trying."""

    summary: str
    steps: list[PlannedStep]


class Validation(_Reply):
    """Whether a step is a tuning step."""

    valid: bool
    reason: str


class PartReply(_Reply):
    """A part of a step that was too large."""

    title: str
    description: str


class Breakdown(Validation):
    """Whether a step is a tuning step, and its parts if it is too large."""

    steps: list[PartReply]


async def ask_for_plan(
    session: Effects, outcomes: Sequence[Outcome], remarks: Sequence[str], told: ToldTechniques, *, first: bool
) -> PlanReply:
    """A plan, or a further one.

    Args:
        remarks: what the user said against the plans before.
        told: techniques for the best kernel.
        first: whether nothing was done yet, so that a plan needs a step.

    Raises:
        ModelFailed: there is none.
    """
    purpose = "plan" if first else "replan"
    best = session.incumbent.candidate
    history = history_facts(outcomes, to_build_on=True, known=session.bench.evaluations_of)
    if first:
        history += await facts_from_memory(session)
    more = [render("named_technique")] if told.ids else []
    more.append(render("kept_from", factor=f"{1 + session.bench.least_gain:g}"))
    prompt = render(
        purpose,
        situation=await situation(session, best, history),
        techniques=told.text,
        most_steps=MOST_STEPS,
        evaluations=session.budget.evaluations_left,
        fields="\n".join([f"  {render('planned_step')}", *more]),  # its first line stands below `steps` as all do
    )
    if means := _means(session):
        prompt = f"{prompt}\n{render('plan_means', means=means)}"
    if remarks:
        prompt = f"{prompt}\n\n{render('plan_rejected', remarks=_LINES.join(remarks))}"
    right = {outcome.step.id for outcome in outcomes if outcome.is_right}
    return await session.ask(purpose, question(prompt), PlanReply, lambda plan: _faults(plan, right, purpose))


def _means(session: Effects) -> str:
    """What the code of a step may use; how tensor maps are made is told the step that wants them."""
    device = session.bench.device
    if not session.problem.is_compiled:
        return render("plan_means_triton", toolchain=device.toolchain)
    whole, means = means_facts(device), means_facts(device, tensor_maps=False)
    return means if means == whole else f"{means} {_MAPS_BY_NAME}"


_MAPS_BY_NAME = "But a kernel can make tensor maps itself: a step whose title or description names TMA is told how."


def _faults(plan: PlanReply, right: set[int], purpose: str) -> list[str]:
    faults = [] if plan.steps or purpose == "replan" else ["steps: a first plan needs at least one step"]
    if len(plan.steps) > MOST_STEPS:
        faults.append(f"steps: at most {MOST_STEPS}, there are {len(plan.steps)}")
    for number, step in enumerate(plan.steps, start=1):
        if not step.title.strip() or not step.description.strip():
            faults.append(f"steps: step {number} needs a title and a description")
        if step.builds_on and step.builds_on not in right:
            known = f"one of {sorted(right)}" if right else "there is none yet"
            faults.append(f"steps: step {number} builds on {step.builds_on}, which has no right kernel; 0 or {known}")
    return faults


async def ask_if_valid(session: Effects, step: Step, base: Candidate, outcomes: Sequence[Outcome]) -> Validation:
    """Whether a step is a tuning step that can be done now.

    Args:
        base: the kernel that it would start from.

    Raises:
        ModelFailed: there is no answer.
    """
    prompt = await _validation_prompt(session, step, base, outcomes, "")
    return await session.ask("validate_step", question(prompt), Validation, lambda _: [])


async def ask_for_parts(session: Effects, step: Step, base: Candidate, outcomes: Sequence[Outcome]) -> Breakdown:
    """Whether a step is a tuning step that can be done now, and its parts if it is too large.

    Raises:
        ModelFailed: there is no answer.
    """
    prompt = await _validation_prompt(session, step, base, outcomes, render("break_down", most_steps=MOST_STEPS))
    return await session.ask("break_down", question(prompt), Breakdown, _part_faults)


def _part_faults(reply: Breakdown) -> list[str]:
    if len(reply.steps) == 1 or len(reply.steps) > MOST_STEPS:
        return [f"steps: none, or 2 to {MOST_STEPS} parts, there is {len(reply.steps)}"]
    incomplete = any(not part.title.strip() or not part.description.strip() for part in reply.steps)
    return ["steps: each part needs a title and a description"] if incomplete else []


async def _validation_prompt(
    session: Effects, step: Step, base: Candidate, outcomes: Sequence[Outcome], parts: str
) -> str:
    facts = await situation(session, base, history_facts(outcomes))
    return render("validate_step", title=step.title, description=step.detail, situation=facts, parts=parts)
