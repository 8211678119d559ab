"""A step of the plan as lines of text: mark, title, factor or state, and the reason."""

from __future__ import annotations

from textual.content import Content

from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.tui.formatting import factor_interval
from tui_tuner.tui.plain import one_line

MARKS = {
    StepState.PROPOSED: ("·", "$foreground-muted"),
    StepState.AWAITING: ("○", "bold $text-warning"),
    StepState.RUNNING: ("›", "bold $text-accent"),  # noqa: RUF001  # a mark, not a bracket
    StepState.ACCEPTED: ("✓", "bold $text-success"),
    StepState.NEUTRAL: ("·", "$foreground-muted"),
    StepState.REJECTED: ("✗", "bold $text-error"),
    StepState.SKIPPED: ("–", "$foreground-muted"),  # noqa: RUF001  # a mark, not a hyphen
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
    """The step in at most `width` cells a line; long titles and the dim reason are wrapped."""
    mark, style = MARKS[step.state]
    outcome = _outcome(step)
    space = max(8, width - _INDENT)
    title = one_line(step.title, "$foreground-muted" if step.state is StepState.SKIPPED else "").wrap(space)
    lines = [*title[:-1], *_beside(title[-1], outcome, space)]
    if step.reason:
        lines += one_line(step.reason, "$foreground-muted").wrap(space)
    first = Content.assemble((mark, style), f" {step.id:>2} ", lines[0])
    return Content("\n").join([first, *(Content(" " * _INDENT) + line for line in lines[1:])])


def _beside(title: Content, outcome: Content, width: int) -> list[Content]:
    """The outcome at the right edge, on a line of its own if the title leaves no room."""
    if not outcome:
        return [title]
    gap = width - title.cell_length - outcome.cell_length
    if gap >= 1:
        return [title + " " * gap + outcome]
    return [title, Content(" " * max(0, width - outcome.cell_length)) + outcome]


def step_detail(step: Step, rationale: str) -> Content:
    """What there is to say about a step when it is selected: its detail, and the model's words on why."""
    paragraphs = [one_line(text) for text in (step.detail, rationale) if text.strip()]
    return Content("\n\n").join(paragraphs) if paragraphs else one_line(step.title)
