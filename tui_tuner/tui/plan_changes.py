"""What a wish of the user for the plan comes to: an instruction for the session, or why it cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tui_tuner.session.instructions import AddStep, MoveStep
from tui_tuner.strategies.steps import Step, StepState

Direction = Literal["up", "down"]
PlanChange = Literal["add", "edit", "up", "down", "delete", "thaw"]
"""What the user may want of the plan, each behind a key."""


class StepWords(NamedTuple):
    """A step as the user words it."""

    title: str = ""
    detail: str = ""


def refusal(step: Step) -> str | None:
    """Why the user cannot change a step; None if they can."""
    if step.state is StepState.PROPOSED:
        return None
    return f"Step {step.id} is {step.state.value}: only steps still to come can be changed."


def added(plan: Sequence[Step], selected: int | None, words: StepWords) -> AddStep:
    """A new step before the selected one, at the end where that is no longer to come.

    Args:
        selected: id of the step.
    """
    coming = selected in _coming(plan)
    return AddStep(title=words.title, detail=words.detail, before=selected if coming else None)


def moved(plan: Sequence[Step], step: Step, direction: Direction) -> MoveStep | None:
    """A step past the next one that is still to come; None where there is none."""
    coming, order = _coming(plan), [other.id for other in plan]
    place = coming.index(step.id) + (-1 if direction == "up" else 1)
    if not 0 <= place < len(coming):
        return None
    if direction == "up":
        return MoveStep(step=step.id, before=coming[place])
    behind = order[order.index(coming[place]) + 1 :]
    return MoveStep(step=step.id, before=behind[0] if behind else None)


def _coming(plan: Sequence[Step]) -> list[int]:
    return [step.id for step in plan if step.state is StepState.PROPOSED]
