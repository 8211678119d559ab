"""Lists of tuning steps: of a file, by default, or planned by a model; and which of them to tell a model of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.check_launch import check_steps
from tui_tuner.problem.languages import TABLE
from tui_tuner.problem.load import validated_as
from tui_tuner.problem.model import Problem
from tui_tuner.problem.toml_file import read_text, read_toml
from tui_tuner.problem.tuning_step import Bottleneck, TuningStep
from tui_tuner.prompts import question, render
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.history import Outcome, facts_from_memory, history_facts
from tui_tuner.strategies.rewriting import is_told_all, profiled, situation
from tui_tuner.strategies.steps import Step

MOST_TECHNIQUES = 3
"""Techniques that a prompt tells of."""


def unfit(tuning: TuningStep, problem: Problem, device: DeviceInfo) -> str | None:
    """Why a step is not for this kernel or device."""
    if tuning.languages and problem.language not in tuning.languages:
        return f"it is for {' and '.join(tuning.languages)}, the kernel is {problem.language}"
    if tuning.min_architecture and device.capability < tuning.min_architecture:
        return f"it needs a CUDA device of sm_{tuning.min_architecture}, this is {device.architecture or device.name}"
    taken = tuning.tune_params.keys() & {*problem.sizes, *(argument.name for argument in problem.arguments)}
    if taken:
        return f"its parameter {', '.join(sorted(taken))} is a size or an argument of this kernel"
    return None


_DEFAULT = "default_steps.toml"


class _Steps(BaseModel):
    """All that a file of steps holds."""

    model_config = TABLE

    steps: Annotated[list[TuningStep], Field(min_length=1)]


def load_steps(file: Path) -> list[TuningStep]:
    """The steps of a user's TOML file with `[[steps]]`, in their order.

    Raises:
        ProblemError: the file cannot be read, or what it says is not possible; with line and way out.
    """
    return _steps(read_text(file), file)


def default_steps() -> list[TuningStep]:
    """The steps that are taken where nobody gives any."""
    return _steps(files("tui_tuner.strategies").joinpath(_DEFAULT).read_text(encoding="utf-8"), Path(_DEFAULT))


def steps_prompt(template: str, *, kernel: str, name: str) -> str:
    """What the model shall do in a step: its template with `$kernel` and `$name` filled.

    Other dollars stay as they are: the user may have changed the words on the screen.

    Args:
        kernel: the kernel's source.
        name: the kernel's name.
    """
    return Template(template).safe_substitute(kernel=kernel, name=name).strip()


def _steps(text: str, file: Path) -> list[TuningStep]:
    tables, place = read_toml(text, file)
    steps = validated_as(_Steps, tables, place).steps
    check_steps(steps, place)
    return steps


async def techniques(session: Effects, candidate: Candidate, own: Sequence[TuningStep]) -> str:
    """For a prompt, what may help against what holds a kernel back; empty where that is not known.

    Args:
        own: the user's techniques, which go first.
    """
    best, profile = await profiled(session, candidate)
    if best is None or not is_told_all(session):
        return ""
    problem, device = session.problem, session.bench.device
    found = diagnosis(problem, device, candidate, best, profile)
    if found is None or found.bottleneck == "unknown":
        return ""
    lists = (fitting(steps, found.bottleneck, problem, device, candidate) for steps in (own, default_steps()))
    told = [step for steps in lists for step in steps][:MOST_TECHNIQUES]
    if not told:
        return ""
    words = "\n\n".join(_in_words(step, candidate) for step in told)
    return f"\n{render('techniques', bottleneck=found.bottleneck, techniques=words)}\n"


def fitting(
    steps: Sequence[TuningStep], bottleneck: Bottleneck, problem: Problem, device: DeviceInfo, candidate: Candidate
) -> list[TuningStep]:
    """The steps that help against a bottleneck and that a kernel does not do yet, those that help most at the start."""
    by_id = {step.id: step for step in steps}

    def is_done(step: TuningStep) -> bool:
        return bool(step.tune_params) and step.tune_params.keys() <= candidate.tunables.keys()

    fit = [
        step
        for step in steps
        if bottleneck in step.when
        and not is_done(step)
        and all(is_done(by_id[needed]) for needed in step.depends_on)
        and unfit(step, problem, device) is None
    ]
    return sorted(fit, key=lambda step: step.when.index(bottleneck))


def _in_words(step: TuningStep, candidate: Candidate) -> str:
    return "\n".join(_lines(step, candidate))


def _lines(step: TuningStep, candidate: Candidate) -> Iterator[str]:
    yield f'<technique name="{step.id.replace("_", " ")}">'
    yield steps_prompt(step.prompt_template, kernel="(the kernel above)", name=candidate.kernel)
    yield from (f"tunable {name}: {values}" for name, values in step.tune_params.items())
    if step.watch:
        yield f"watch: {step.watch}"
    yield "</technique>"


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
    session: Effects, outcomes: Sequence[Outcome], remarks: Sequence[str], own: Sequence[TuningStep], *, first: bool
) -> PlanReply:
    """A plan, or a further one.

    Args:
        remarks: what the user said against the plans before.
        own: techniques of the user's own.
        first: whether nothing was done yet, so that a plan needs a step.

    Raises:
        ModelFailed: there is none.
    """
    purpose = "plan" if first else "replan"
    best = session.incumbent.candidate
    history = history_facts(outcomes, to_build_on=True)
    if first:
        history += await facts_from_memory(session)
    prompt = render(
        purpose,
        situation=await situation(session, best, history),
        techniques=await techniques(session, best, own),
        most_steps=MOST_STEPS,
        evaluations=session.budget.evaluations_left,
        fields=render("planned_step"),
    )
    if remarks:
        prompt = f"{prompt}\n\n{render('plan_rejected', remarks=_LINES.join(remarks))}"
    right = {outcome.step.id for outcome in outcomes if outcome.is_right}
    return await session.ask(purpose, question(prompt), PlanReply, lambda plan: _faults(plan, right, purpose))


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
