"""Lists of tuning steps: of a file, by default; and which of them a prompt for a plan or a whole rewrite tells of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from string import Template
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field

from tui_tuner.evaluate.profiling.signs import SIGNS, signs
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.check_launch import check_steps
from tui_tuner.problem.languages import TABLE
from tui_tuner.problem.load import validated_as
from tui_tuner.problem.model import Problem
from tui_tuner.problem.toml_file import read_text, read_toml
from tui_tuner.problem.tuning_step import Bottleneck, Sign, TuningStep
from tui_tuner.prompts import render
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.rewriting import held_back, profiled
from tui_tuner.strategies.steps import Step

MOST_TECHNIQUES = 3
"""Techniques that a prompt tells of."""
_MOST_NAMED = 2
"""And that of a step, where its title names several."""


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


_DEFAULT, _DEFAULT_TECHNIQUES, _TRITON = "default_steps.toml", "techniques.toml", "triton_steps.toml"


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


@cache
def default_steps(*, compiled: bool = True) -> list[TuningStep]:
    """The steps that are taken where nobody gives any.

    Args:
        compiled: whether the kernel is a source file that is compiled; else one in Triton.
    """
    name = _DEFAULT if compiled else _TRITON
    return _steps(_ours(name), Path(name))


def _ours(name: str) -> str:
    return files("tui_tuner.strategies").joinpath(name).read_text(encoding="utf-8")


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


class DeviceFacts(BaseModel):
    """What a technique says besides on some devices.

    Attributes:
        min_architecture: least compute capability of the device; 0 for any.
        built_for: the architecture that is built for, as in "sm_90a"; empty for any.
    """

    model_config = TABLE

    text: Annotated[str, Field(min_length=1)]
    min_architecture: int = 0
    built_for: str = ""

    def fit(self, device: DeviceInfo) -> bool:
        """Whether they are facts of the device."""
        return device.capability >= self.min_architecture and device.toolchain.endswith(self.built_for)


class Technique(TuningStep):
    """A way to go about a kernel's whole work, with an example.

    Attributes:
        instead_of: ids of default steps that are not told beside it.
        facts: what to know besides, on a device.
    """

    instead_of: list[str] = Field(default_factory=list)
    facts: list[DeviceFacts] = Field(default_factory=list)


StepType = TypeVar("StepType", bound=TuningStep)


class _Techniques(BaseModel):
    model_config = TABLE

    techniques: Annotated[list[Technique], Field(min_length=1)]


@cache
def default_techniques() -> list[Technique]:
    """Those that the user need not give."""
    tables, place = read_toml(_ours(_DEFAULT_TECHNIQUES), Path(_DEFAULT_TECHNIQUES))
    return validated_as(_Techniques, tables, place).techniques


@dataclass(frozen=True)
class ToldTechniques:
    """Techniques in a prompt.

    Attributes:
        text: empty where there are none.
        ids: of them.
    """

    text: str = ""
    ids: frozenset[str] = frozenset()


async def techniques(session: Effects, candidate: Candidate, own: Sequence[TuningStep]) -> ToldTechniques:
    """For a prompt, what may help against what holds a kernel back; none where that is not known.

    Args:
        own: the user's techniques, which go first.
    """
    problem = session.problem
    best, profile = await profiled(session, candidate)
    found = None if best is None else held_back(session, candidate, best, profile)
    if not problem.is_compiled:
        return _of_triton(session, candidate, own, None if found is None else found.bottleneck)
    if best is None or found is None:
        return ToldTechniques()
    seen = signs(problem, candidate, best.configuration, found, profile)
    if found.bottleneck == "unknown" and not seen:
        return ToldTechniques()
    told = _best_fitting(session, candidate, own, found.bottleneck, seen)
    if not told:
        return ToldTechniques()
    words = "\n\n".join(_text(session, step, candidate) for step in told)
    known = [] if found.bottleneck == "unknown" else [found.bottleneck]
    held_by = "; ".join([*known, *(SIGNS[sign] for sign in seen)])
    text = f"\n{render('techniques', bottleneck=held_by, techniques=words)}\n"
    return ToldTechniques(text, frozenset(step.id for step in told))


def _of_triton(
    session: Effects, candidate: Candidate, own: Sequence[TuningStep], bottleneck: Bottleneck | None
) -> ToldTechniques:
    """All that there are, which are few and short; those against what holds the kernel back at the start."""
    told = [*own, *sorted(default_steps(compiled=False), key=lambda step: bottleneck not in step.when)]
    words = "\n\n".join(_text(session, step, candidate) for step in told)
    held_by = "its counters are not known: see what it does" if bottleneck in (None, "unknown") else bottleneck
    text = render("techniques", bottleneck=held_by, techniques=words)
    return ToldTechniques(f"\n{text}\n", frozenset(step.id for step in told))


def _best_fitting(
    session: Effects, candidate: Candidate, own: Sequence[TuningStep], bottleneck: Bottleneck, seen: Sequence[Sign]
) -> Sequence[TuningStep]:
    """The user's, then those for what the kernel does, then default steps that say something else."""
    about = session.problem, session.bench.device, candidate
    users, by_signs = fitting(own, [bottleneck, *seen], *about), fitting(default_techniques(), seen, *about)
    steps = default_steps()
    said = {name for technique in by_signs for name in technique.instead_of}
    general = [
        step for step in fitting(steps, [bottleneck], *about) if step.id not in said and not _only_prepares(step, steps)
    ]
    return [*users, *by_signs, *general][:MOST_TECHNIQUES]


def with_named_technique(
    session: Effects, step: Step, candidate: Candidate, own: Sequence[TuningStep], told: Collection[str]
) -> str:
    """What a planned step says, with the text of the technique that its title names, where it is for this device.

    Args:
        candidate: the kernel that the step starts from.
        own: the user's techniques, which go first.
        told: ids of those that the plans so far were told of, since they fit the kernel: that a model's title has the
            words of another, as "scan", is chance. The user means what the user writes.
    """
    compiled = session.problem.is_compiled
    ours = [*default_techniques(), *(each for each in default_steps() if each.when)]
    known = [*own, *(ours if compiled else default_steps(compiled=False))]
    meant = {*told, *(each.id for each in (known if step.by_user else own))}
    named = [each for each in known if each.id in meant and _is_named(each, step.title)]
    fit = (each for each in named if unfit(each, session.problem, session.bench.device) is None)
    return "\n\n".join([step.detail, *(_text(session, each, candidate) for each in islice(fit, _MOST_NAMED))])


def _is_named(step: TuningStep, title: str) -> bool:
    """Whether a title has its name; where a tunable is called as it is, the name in words."""
    between = r"\s+" if step.id in step.tune_params else r"[\s_-]+"
    name = between.join(map(re.escape, _words(step).split()))
    return re.search(rf"\b{name}\b", title, re.IGNORECASE) is not None


def fitting(
    steps: Sequence[StepType],
    seen: Sequence[Bottleneck | Sign],
    problem: Problem,
    device: DeviceInfo,
    candidate: Candidate,
) -> list[StepType]:
    """The steps for what was seen of a kernel that it does not do yet, those that help most at the start.

    Args:
        seen: its bottleneck and its signs.
    """
    by_id = {step.id: step for step in steps}

    def is_done(step: TuningStep) -> bool:
        return bool(step.tune_params) and step.tune_params.keys() <= candidate.tunables.keys()

    fit = [
        step
        for step in steps
        if not {*step.when}.isdisjoint(seen)
        and not is_done(step)
        and all(is_done(by_id[needed]) for needed in step.depends_on)
        and unfit(step, problem, device) is None
    ]
    return sorted(fit, key=lambda step: min((step.when.index(s), seen.index(s)) for s in {*seen} & {*step.when}))


def _only_prepares(step: TuningStep, steps: Sequence[TuningStep]) -> bool:
    """Whether another step is built on it and it brings nothing to search: by itself it need not be faster."""
    return not step.tune_params and any(step.id in other.depends_on for other in steps)


def _text(session: Effects, step: TuningStep, candidate: Candidate) -> str:
    return "\n".join(_lines(session, step, candidate))


def _lines(session: Effects, step: TuningStep, candidate: Candidate) -> Iterator[str]:
    yield f'<technique name="{_words(step)}">'
    yield steps_prompt(step.prompt_template, kernel="(the kernel above)", name=candidate.kernel)
    if isinstance(step, Technique) and session.problem.language == "opencl":
        yield "(The example is in CUDA.)"
    yield from (f"tunable {name}: {values}" for name, values in step.tune_params.items())
    if step.watch:
        yield f"watch: {step.watch}"
    if isinstance(step, Technique):
        yield from (facts.text.strip() for facts in step.facts if facts.fit(session.bench.device))
    yield "</technique>"


def _words(step: TuningStep) -> str:
    """A step's name as prompts have it."""
    return step.id.replace("_", " ")
