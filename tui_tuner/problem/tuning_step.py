"""One step of an explicit plan, as the user writes it in Python or as `[[steps]]` in TOML, and what can be wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import Template
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tui_tuner.problem.languages import COMPILED, TABLE, CompiledLanguage, Value
from tui_tuner.problem.toml_file import KeyPath
from tui_tuner.problem.tunables import value_faults, why_no_tunable
from tui_tuner.text import suggestion

PLACEHOLDERS = ("kernel", "name")
"""What a template may ask for with a dollar in front."""
_BRACES = re.compile(r"\{\s*kernel_string\s*\}")
_TWO_DIGITS = 10


Bottleneck = Literal[
    "memory", "l2", "l1", "issue", "compute", "launch", "grid", "tail", "spills", "occupancy", "latency", "unknown"
]
"""What may hold a launch back, as `tui_tuner.evaluate.profiling.bottleneck` finds it."""
Sign = Literal[
    "reuse",
    "narrow_reuse",
    "row_a_thread",
    "transposed",
    "overlap",
    "narrow",
    "atomics",
    "divergence",
    "barriers",
]
"""How a kernel goes about its work, as `tui_tuner.evaluate.profiling.signs` sees it."""


class TuningStep(BaseModel):
    """A step of the strategy `explicit`, and a technique that the others tell a model of where it fits.

    Attributes:
        id: a short name; other steps depend on it by this.
        prompt_template: what the model shall do, in words. `$kernel` stands for the kernel's source and
            `$name` for the kernel's name, `$$` for a dollar. The prompt around it holds the kernel anyway,
            with device, launch, sizes and measurements.
        tune_params: tunables that the step introduces, each with its values.
        depends_on: ids of steps that must have been accepted, or kept, before.
        unless: ids of steps of which none must have been accepted before, nor done by the kernel already.
        skip_evaluation: whether the step is done without asking the model first if it is worth doing, also where the
            kernel has tunables of these names already; the step's values then replace theirs.
        languages: what the kernels that it is for are written in; empty for all.
        min_architecture: least compute capability of a CUDA device, as in 80 for sm_80; 0 for any.
        when: what it helps against or what it is for, most of all the first; a step that names nothing is no technique
            to tell of.
        watch: what to look at when it is done, in words.
    """

    model_config = TABLE

    id: Annotated[str, Field(min_length=1)]
    prompt_template: Annotated[str, Field(min_length=1)]
    tune_params: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    depends_on: list[str] = []
    unless: list[str] = []
    skip_evaluation: bool = False
    languages: list[CompiledLanguage] = []
    min_architecture: int = 0
    when: list[Bottleneck | Sign] = []
    watch: str = ""

    @property
    def waits_for(self) -> list[str]:
        """Ids of the steps of which must be known what came of them."""
        return [*self.depends_on, *self.unless]


@dataclass(frozen=True)
class StepFault:
    """What is wrong with a list of steps: where, counted from the list; why; and the way out."""

    path: KeyPath
    message: str
    hint: str


def faults_of_steps(steps: Sequence[TuningStep]) -> list[str]:
    """What is wrong with a list of steps, in words; empty if it can be worked through."""
    return [fault.message for fault in step_faults(steps)]


def step_faults(steps: Sequence[TuningStep]) -> Iterator[StepFault]:
    """What is wrong with a list of steps.

    Ids given twice; dependencies that are unknown or go in circles; placeholders that nothing fills; tunables
    with an impossible name or value; architectures that are none.
    """
    order = [*_id_faults(steps), *_dependency_faults(steps)]
    yield from order or _circle_faults(steps)
    for index, step in enumerate(steps):
        yield from _template_faults(step, index)
        yield from _tunable_faults(step, index)
        if step.min_architecture and step.min_architecture < _TWO_DIGITS:
            message = f"step '{step.id}' has min_architecture = {step.min_architecture}, which is no architecture"
            yield StepFault((index, "min_architecture"), message, "write 80 for sm_80, 90 for sm_90")


def _id_faults(steps: Sequence[TuningStep]) -> Iterator[StepFault]:
    seen: set[str] = set()
    for index, step in enumerate(steps):
        if step.id in seen:
            yield StepFault((index, "id"), f"step '{step.id}' is there twice", "give one of them another id")
        seen.add(step.id)


def _dependency_faults(steps: Sequence[TuningStep]) -> Iterator[StepFault]:
    ids = [step.id for step in steps]
    for index, step in enumerate(steps):
        for key, others in (("depends_on", step.depends_on), ("unless", step.unless)):
            for position, other in enumerate(others):
                if other not in ids:
                    message = f"step '{step.id}' depends on '{other}', which is not there"
                    hint = suggestion(other, [name for name in ids if name != step.id], "steps")
                    yield StepFault((index, key, position), message, hint)


def _circle_faults(steps: Sequence[TuningStep]) -> Iterator[StepFault]:
    """One fault for the steps that can never be reached by doing those whose dependencies are done."""
    left = {step.id: set(step.waits_for) for step in steps}
    while ready := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in ready:
            del left[name]
    if left:
        index = next(i for i, step in enumerate(steps) if step.id in left)
        message = f"steps depend on each other in a circle: {', '.join(left)}"
        key = "depends_on" if steps[index].depends_on else "unless"
        yield StepFault((index, key), message, "take one of these dependencies out")


def _template_faults(step: TuningStep, index: int) -> Iterator[StepFault]:
    template, path = Template(step.prompt_template), (index, "prompt_template")
    for name in template.get_identifiers():
        if name not in PLACEHOLDERS:
            known = ", ".join(f"${placeholder}" for placeholder in PLACEHOLDERS)
            message = f"the prompt_template of step '{step.id}' has the placeholder ${name}, which nothing fills"
            yield StepFault(path, message, f"known placeholders: {known}; write $$ for a dollar")
    if _BRACES.search(step.prompt_template):
        message = f"the prompt_template of step '{step.id}' has {{kernel_string}}, as LLM Kernel Tuner fills it"
        yield StepFault(path, message, "write $kernel, or nothing: the prompt around it holds the kernel anyway")
    if not template.is_valid():
        message = f"the prompt_template of step '{step.id}' has a dollar that is no placeholder"
        yield StepFault(path, message, "write $$ for a dollar")


def _tunable_faults(step: TuningStep, index: int) -> Iterator[StepFault]:
    for name, values in step.tune_params.items():
        path = (index, "tune_params", name)
        reasons = (why_no_tunable(name, language) for language in step.languages or COMPILED)
        if reason := next(filter(None, reasons), None):
            yield StepFault(path, reason, "choose another name: a tunable becomes a macro for the compiler")
        for fault in value_faults(name, values):
            yield StepFault((*path, fault.index), fault.message, fault.hint)
