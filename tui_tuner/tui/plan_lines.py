"""A step of the plan, and the source that it proposes, as lines of text; and what a wish for the plan comes to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from textual.content import Content

from tui_tuner.format import counted, factor_interval, tunable_value
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Launch, Value
from tui_tuner.session.plan import AddStep, MoveStep
from tui_tuner.strategies.steps import Proposal, Step, StepState
from tui_tuner.subjects import Source
from tui_tuner.text import in_line
from tui_tuner.tui.moving import Page
from tui_tuner.tui.text import Pairs, one_line, pairs_table, plain
from tui_tuner.tui.text.markdown import markdown_text, table_lines

Direction = Literal["up", "down"]
PlanChange = Literal["add", "up", "down", "delete", "thaw"]
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


MARKS = {
    StepState.PROPOSED: ("·", "$foreground-muted"),
    StepState.VALIDATED: ("◇", "$text-accent"),
    StepState.BROKEN_DOWN: ("┬", "$foreground-muted"),
    StepState.AWAITING: ("○", "bold $text-warning"),
    StepState.RUNNING: ("›", "bold $text-accent"),  # noqa: RUF001  # a mark, not a bracket
    StepState.ACCEPTED: ("✓", "bold $text-success"),
    StepState.NEUTRAL: ("=", "$foreground-muted"),
    StepState.REJECTED: ("✗", "bold $text-error"),
    StepState.SKIPPED: ("–", "$foreground-muted"),  # noqa: RUF001  # a mark, not a hyphen
    StepState.DONE: ("●", "$text-success"),
}
"""The sign of each state, readable without colour, and its style."""

_QUIET = (StepState.PROPOSED, StepState.ACCEPTED, StepState.DONE)
_DIM = (StepState.SKIPPED, StepState.BROKEN_DOWN)
_OF_USER = Content.styled("you> ", "bold $text-accent")


def _outcome(step: Step) -> Content:
    if step.factor is not None:
        return Content.styled(factor_interval(step.factor), MARKS[step.state][1])
    return Content() if step.state in _QUIET else Content.styled(step.state.value, MARKS[step.state][1])


def step_lines(step: Step, width: int) -> Content:
    """The step in at most `width` cells a line; long titles and the dim reason are wrapped, that to a few lines."""
    mark, style = MARKS[step.state]
    gutter = Content.assemble((mark, style), f" {step.id:>2} ")
    space = max(8, width - gutter.cell_length)
    words = one_line(step.title, "$foreground-muted" if step.state in _DIM else "")
    title = (_OF_USER + words if step.by_user else words).wrap(space)
    lines = [*title[:-1], *_beside(title[-1], _outcome(step), space)]
    if step.reason:
        lines += _beginning(one_line(in_line(_reason(step).plain), "$foreground-muted").wrap(space), space)
    indent = Content(" " * gutter.cell_length)
    return Content("\n").join([gutter + lines[0], *(indent + line for line in lines[1:])])


_OF_A_REASON = 3
"""Lines of a reason that stand in the list; all of it is behind Enter."""


def _reason(step: Step) -> Content:
    """Why a step came to what it did; why it was skipped may be the model's words, which are Markdown."""
    return markdown_text(step.reason) if step.state is StepState.SKIPPED else plain(step.reason)


def _beginning(lines: Sequence[Content], width: int) -> Sequence[Content]:
    """The first few lines, the last of which tells that there are more."""
    if len(lines) <= _OF_A_REASON:
        return lines
    *first, last = lines[:_OF_A_REASON]
    return [*first, (last.rstrip() + " …").truncate(width, ellipsis=True)]


def _beside(title: Content, outcome: Content, width: int) -> list[Content]:
    """The outcome at the right edge, on a line of its own if the title leaves no room."""
    if not outcome:
        return [title]
    gap = width - title.cell_length - outcome.cell_length
    if gap >= 1:
        return [title + " " * gap + outcome]
    return [title, Content(" " * max(0, width - outcome.cell_length)) + outcome]


def step_text(step: Step, rationale: str, *, lines: bool = False) -> Content:
    """All about a step: what became of it and why, then its detail; see `step_detail`."""
    mark, style = MARKS[step.state]
    state = step.state.value if step.factor is None else f"{step.state.value} {factor_interval(step.factor)}"
    became = Content.styled(f"{mark} {state}", style)
    return Content("\n\n").join(
        part for part in (became, _reason(step), step_detail(step, rationale, lines=lines)) if part
    )


def step_detail(step: Step, rationale: str, *, lines: bool = False) -> Content:
    """What there is to say about a step when it is selected: its detail, and the model's words on why, in Markdown.

    Args:
        lines: whether the detail's lines stay lines, as those that name an edit each.
    """
    before, detail, after = step_words(step, rationale, lines=lines)
    return Content("\n\n").join(filter(None, (detail, before, after))) or one_line(step.title)


def step_words(step: Step, rationale: str, *, lines: bool) -> tuple[Content, Content, Content]:
    """The step's detail, which the model's words may hold, between those before it and those behind it."""
    said = step.detail.strip()
    before, _, after = rationale.partition(said) if said else (rationale, "", "")
    detail = _lines(said) if lines else markdown_text(said)
    return markdown_text(before.strip()), detail, markdown_text(after.strip())


def _lines(text: str) -> Content:
    """Every line that says something, on a line of its own."""
    return Content("\n").join(one_line(line) for line in text.splitlines() if line.strip())


def frozen_text(frozen: Configuration, key: str, width: int) -> Content:
    """The frozen tunables and how to thaw one, in at most `width` cells.

    Args:
        key: of the thaw, as the user knows it; empty where no key acts.
    """
    values = " ".join(f"{name}={tunable_value(value)}" for name, value in frozen.items())
    way_out = f" · {key} thaws" if key else " · thaw"
    space = max(8, width - len(way_out))
    return one_line(f"held: {values}", "$foreground-muted").truncate(space, ellipsis=True) + way_out


class ReviewFacts(Page):
    """Summary, rationale and what is to be measured of the source that awaits the user."""

    def __init__(self) -> None:
        super().__init__(id="facts")
        self.border_title = Content("Review")


def proposal_facts(
    proposal: Proposal, before: Source | None, evaluations_left: int | None, *, lines: bool = False
) -> Content:
    """Everything that a proposal says beside the source itself.

    Args:
        before: what its diff is against.
        evaluations_left: None where that is not known.
        lines: see `tui_tuner.tui.plan_lines.step_detail`.
    """
    step, candidate = proposal.step, proposal.candidate
    parts = [plain(f"step {step.id}: {step.title}", "bold"), *step_words(step, proposal.rationale, lines=lines)]
    if isinstance(candidate, Candidate):
        known = before if isinstance(before, Candidate) else None
        parts += [_tunables(candidate, known), _launch(candidate, known), _to_measure(candidate, evaluations_left)]
    return Content("\n\n").join(part for part in parts if part)


def _heading(text: str) -> Content:
    return Content.styled(text, "bold underline")


def _tunables(candidate: Candidate, before: Candidate | None) -> Content:
    """The values of each, the first one to be measured marked, and what is new of them."""
    if not candidate.tunables:
        return Content()
    known = {} if before is None else before.tunables
    first = candidate.default_configuration
    rows = [
        [plain(name), _values(values, first[name]), _news(known, name, values)]
        for name, values in candidate.tunables.items()
    ]
    gone = [name for name in known if name not in candidate.tunables]
    lines = [_heading("tunables"), *table_lines(rows)]
    lines += [Content.styled("no longer: ", "$foreground-muted") + one_line(", ".join(gone))] if gone else []
    return Content("\n").join(lines)


def _values(values: list[Value], first: Value | None) -> Content:
    texts = [plain(tunable_value(value), "bold $text-accent" if value == first else "") for value in values]
    return Content(" ").join(texts)


def _news(known: dict[str, list[Value]], name: str, values: list[Value]) -> Content:
    if not known or known.get(name) == values:
        return Content()
    return Content.styled("other values" if name in known else "new", "$text-warning")


def _launch(candidate: Candidate, before: Candidate | None) -> Content:
    """Block, grid and shared memory as expressions; what differs is marked."""
    now, known = _said(candidate.launch), {} if before is None else _said(before.launch)
    pairs: Pairs = [
        (name, one_line(text, "$text-warning" if known and known.get(name) != text else ""))
        for name, text in now.items()
    ]
    pairs += [("restriction" if place == 0 else "", text) for place, text in enumerate(candidate.restrictions)]
    return _heading("launch") + "\n" + pairs_table(pairs)


def _said(launch: Launch) -> dict[str, str]:
    fields = launch.model_dump(exclude_none=True, exclude_defaults=True)
    said = {
        name: " x ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in fields.items()
    }
    return {name: text for name, text in said.items() if (name, text) != ("shared_memory", "0")}


def _to_measure(candidate: Candidate, evaluations_left: int | None) -> Content:
    """What is measured first, and of how many combinations of values a search may choose after that."""
    values = candidate.default_configuration.items()
    first = ", ".join(f"{name}={tunable_value(value)}" for name, value in values) or "as it is"
    pairs: Pairs = [("first", first)]
    combinations = math.prod(map(len, candidate.tunables.values()))
    if combinations > 1:
        there = [f"{combinations:,} combinations"]
        there += [counted(len(candidate.restrictions), "restriction")] if candidate.restrictions else []
        there += [] if evaluations_left is None else [f"{counted(evaluations_left, 'evaluation')} left"]
        pairs.append(("then", f"a search of {', '.join(there)}"))
    return _heading("to measure") + "\n" + pairs_table(pairs)
