"""A step of the plan as lines of text: mark, title, factor or state, and the reason."""

from __future__ import annotations

from textual.content import Content

from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.tui.formatting import factor_interval
from tui_tuner.tui.plain import one_line

MARKS = {
    StepState.PROPOSED: ("·", "$text-muted"),
    StepState.AWAITING: ("○", "bold $text-warning"),
    StepState.RUNNING: ("›", "bold $text-accent"),  # noqa: RUF001  # a mark, not a bracket
    StepState.ACCEPTED: ("✓", "bold $text-success"),
    StepState.NEUTRAL: ("·", "$text-muted"),
    StepState.REJECTED: ("✗", "bold $text-error"),
    StepState.SKIPPED: ("–", "$text-muted"),  # noqa: RUF001  # a mark, not a hyphen
    StepState.DONE: ("✓", "$text-success"),
}
"""The sign of each state, readable without colour, and its style."""

_INDENT = 5


def _outcome(step: Step) -> Content:
    if step.factor is not None:
        return Content.styled(factor_interval(step.factor), MARKS[step.state][1])
    quiet = step.state in (StepState.PROPOSED, StepState.ACCEPTED, StepState.DONE)
    return Content() if quiet else Content.styled(step.state.value, MARKS[step.state][1])


def step_lines(step: Step, width: int) -> Content:
    """The step in at most `width` cells a line; the reason follows dim and is wrapped."""
    mark, style = MARKS[step.state]
    outcome = _outcome(step)
    title_width = max(8, width - _INDENT - outcome.cell_length - (1 if outcome else 0))
    title_style = "$text-muted" if step.state is StepState.SKIPPED else ""
    title = one_line(step.title, title_style).truncate(title_width, ellipsis=True)
    padding = " " * max(0, width - _INDENT - title.cell_length - outcome.cell_length)
    first = Content.assemble((mark, style), f" {step.id:>2} ", title, padding if outcome else "", outcome)
    if not step.reason:
        return first
    reason = one_line(step.reason, "$text-muted").wrap(max(8, width - _INDENT))
    return Content("\n").join([first, *(Content(" " * _INDENT) + line for line in reason)])


def step_detail(step: Step, rationale: str) -> Content:
    """What there is to say about a step when it is selected: its detail, else the model's reason for it."""
    return one_line(step.detail or rationale or step.title)
