"""From a reply of the model to a kernel that is accepted, or to the reason why not.

Here: what a step is carried out with, the kernel that it starts from and the prompts that tell the model of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tui_tuner.evaluate.measure import fastest_first
from tui_tuner.evaluate.profiling import NO_PROFILE, Diagnosis, Profile
from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.profiling.roofline import roofline
from tui_tuner.evaluate.profiling.uncounted import uncounted
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.prompts import (
    build_facts,
    check_facts,
    device_facts,
    launch_facts,
    means_facts,
    measurement_facts,
    render,
    shown_source,
    size_facts,
    traffic_facts,
)
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.history import Outcome, best_of, history_facts
from tui_tuner.strategies.parameters import narrowed
from tui_tuner.strategies.steps import Step


@dataclass(frozen=True)
class StartingPoint:
    """The kernel that a step rewrites, with the best configuration known of it."""

    candidate: Candidate
    configuration: Configuration


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


ENABLING_FROM = 0.5
"""A step that others build on may make the kernel this much slower by itself: down to half the speed."""


@dataclass(frozen=True)
class StepBrief:
    """What a step is carried out with.

    Attributes:
        evaluations: configurations that may be measured for it.
        outcomes: what came of the steps so far; the model sees it.
        description: what to do; None for the step's own detail.
        parameters: tunables that the step introduces, with their values.
        neutral_from: factor over the incumbent from which a kernel that is not faster is neutral.
        candidates: kernels that are asked for, of which the best is tuned.
        may_decline: whether the model may find, knowing the results so far, that it is not worth doing.
    """

    start: StartingPoint
    evaluations: int
    outcomes: Sequence[Outcome] = ()
    description: str | None = None
    parameters: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    neutral_from: float | None = None
    candidates: int = 1
    may_decline: bool = False


async def step_prompt(session: Effects, step: Step, brief: StepBrief) -> str:
    """What asks for the kernel of a step."""
    base = brief.start.candidate
    history = history_facts(brief.outcomes, code_beside=base, known=session.bench.evaluations_of)
    description = step.detail if brief.description is None else brief.description
    return render(
        "apply_step",
        title=step.title,
        description=description,
        parameters="\n\n".join(filter(None, [_introduced(brief.parameters), _to_come(session, step)])),
        situation=await situation(session, base, history),
        decline=f"\n{render('decline')}\n" if brief.may_decline else "",
        answer=rewrite_answer(session, brief.evaluations, f"{step.title}\n{description}\n{base.source}"),
    )


def _to_come(session: Effects, asked: Step) -> str:
    """The steps that other prompts will ask for."""
    steps = [step for step in session.proposed_steps() if step.id != asked.id]
    return render("to_come", steps="\n".join(f"- {step.title}" for step in steps)) if steps else ""


def _introduced(parameters: Mapping[str, Sequence[Value]]) -> str:
    lines = [f"- {name}: {', '.join(map(str, values))}" for name, values in parameters.items()]
    return render("parameters", parameters="\n".join(lines)) if lines else ""


async def profiled(session: Effects, candidate: Candidate) -> tuple[Evaluation | None, Profile]:
    """The best that is known of a candidate, and its profile."""
    best = best_of(session.bench.evaluations_of(candidate))
    return best, NO_PROFILE if best is None else await session.profile(candidate, best.configuration)


def held_back(session: Effects, candidate: Candidate, evaluation: Evaluation, profile: Profile) -> Diagnosis | None:
    """What holds a configuration of a candidate back; None if not known."""
    return diagnosis(session.problem, session.bench.device, candidate, evaluation, profile)


async def situation(session: Effects, candidate: Candidate, history: str = "") -> str:
    """The facts about a candidate as one text for a prompt; its best configuration is profiled for it."""
    _, profile = await profiled(session, candidate)
    return known_situation(session, candidate, history, profile)


def known_situation(session: Effects, candidate: Candidate, history: str, profile: Profile) -> str:
    """Do as `situation` with what is known.

    Args:
        profile: of the best configuration that is known of the candidate.
    """
    problem = session.problem
    device, best = session.bench.device, session.incumbent.evaluation
    known = session.bench.evaluations_of(candidate)
    fastest = next(iter(fastest_first(known)), None)
    held_by = None if fastest is None else held_back(session, candidate, fastest, profile)
    measured = measurement_facts(problem, device, session.bench.given, best, known, held_by, session.bench.library)
    traffic = "" if held_by else traffic_facts(problem, device, best)
    more = () if device.memory_gbs is None else uncounted(problem, candidate.source)
    return render(
        "situation",
        device=device_facts(device),
        language=problem.language,
        kernel=candidate.kernel,
        source=shown_source(problem, candidate),
        launch="\n".join(filter(None, [launch_facts(problem, narrowed(session, candidate)), build_facts(problem)])),
        sizes=size_facts(problem),
        inputs=f"\n<inputs>\n{check_facts(problem, session.bench.allowed)}\n</inputs>\n",
        measurements="\n".join(filter(None, [measured, traffic, *more])),
        history=history,
    )


def rewrite_answer(session: Effects, evaluations: int, said: str) -> str:
    """What a prompt for a rewritten kernel wants to be answered.

    Args:
        evaluations: how many configurations of it can be measured.
        said: what is asked for, and the kernel.
    """
    if not session.problem.is_compiled:
        toolchain = session.bench.device.toolchain
        return render("rewrite_answer_triton", evaluations=max(1, evaluations), toolchain=toolchain)
    means = means_facts(session.bench.device, tensor_maps=_wants_tensor_maps(session, said))
    return render("rewrite_answer", evaluations=max(1, evaluations), means=f" {means}" if means else "")


_NEEDS_MAPS = re.compile(r"\b(?:TMA|tensor[ -]?maps?|wgmma|tcgen05|multicast|cp\.async\.bulk\.tensor)\b", re.IGNORECASE)


def _wants_tensor_maps(session: Effects, said: str) -> bool:
    """Whether how a kernel makes tensor maps is told: where operations hold it back, or something asks for them."""
    limits = roofline(session.problem, session.bench.device)
    is_of_memory = limits is not None and limits.limiter == "memory"
    return not is_of_memory or _NEEDS_MAPS.search(said) is not None
