"""What came of the steps so far, for the next prompts and for steps that build on a kernel that was not accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.format import factor_in_prompts
from tui_tuner.problem.candidate import Candidate
from tui_tuner.prompts.facts import configuration_facts, evaluation_facts
from tui_tuner.strategies.steps import Step, StepState

UNANSWERED = "there was no usable answer"
"""What a prompt says of a step for which the model gave nothing: why is not the kernel's business."""
_SHOWN = 24
_REASON = 600  # characters of a reason: enough for a compiler's first errors


@dataclass(frozen=True)
class Outcome:
    """What came of one step.

    Attributes:
        step: the step in its last state.
        candidate: the kernel that it led to, if any.
        best: the best evaluation of that kernel; None if none was right.
        told: what later prompts say of it instead of the step's reason.
    """

    step: Step
    candidate: Candidate | None = None
    best: Evaluation | None = None
    told: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether its kernel computes the right result, so that another step can build on it."""
        return self.candidate is not None and self.best is not None


def history_facts(outcomes: Sequence[Outcome], *, to_build_on: bool = False) -> str:
    """The steps with state, factor, reason and the time of their best configuration; empty if there are none.

    Args:
        to_build_on: whether to say which kernels a new step may start from.
    """
    if not outcomes:
        return ""
    lines = [line for outcome in outcomes[-_SHOWN:] for line in _lines(outcome, to_build_on)]
    return "\n".join(["", "<history>", *lines, "</history>"])


def _lines(outcome: Outcome, to_build_on: bool) -> Iterator[str]:
    step = outcome.step
    yield f'<step id="{step.id}" title="{step.title}">'
    reason = (step.reason if outcome.told is None else outcome.told)[:_REASON]
    yield f"{step.state.value}{_factor(step)}{': ' + reason if reason else ''}"
    if outcome.best is not None:
        yield f"its best: {configuration_facts(outcome.best.configuration)}: {evaluation_facts(outcome.best)}"
    if to_build_on and outcome.is_right and step.state in (StepState.REJECTED, StepState.NEUTRAL):
        yield f"its kernel is right and can be built on (builds_on {step.id})"
    yield "</step>"


def _factor(step: Step) -> str:
    if step.factor is None:
        return ""
    return f" {factor_in_prompts(step.factor)} over the best before"
