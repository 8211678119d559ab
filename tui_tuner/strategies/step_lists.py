"""Lists of tuning steps: those of a file, those that are there by default, and which of them to tell a model of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

from pydantic import BaseModel, Field

from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.check_launch import check_steps
from tui_tuner.problem.languages import TABLE
from tui_tuner.problem.load import validated_as
from tui_tuner.problem.model import Problem
from tui_tuner.problem.toml_file import read_text, read_toml
from tui_tuner.problem.tuning_step import Bottleneck, TuningStep
from tui_tuner.prompts import render
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.rewriting import is_told_all, profiled

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
