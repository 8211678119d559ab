"""What there is to know of a source that awaits the user, beside its diff: why, and what is about to be measured."""

from __future__ import annotations

import math

from textual.app import ComposeResult
from textual.content import Content

from tui_tuner.format import counted, tunable_value
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch, Value
from tui_tuner.strategies.steps import Proposal
from tui_tuner.subjects import Source
from tui_tuner.tui.moving import Reading
from tui_tuner.tui.plan_lines import step_words
from tui_tuner.tui.text import Pairs, Paragraphs, one_line, pairs_table, plain
from tui_tuner.tui.text.markdown import table_lines


class ReviewFacts(Reading):
    """Summary, rationale and what is to be measured of the source that awaits the user."""

    def __init__(self) -> None:
        super().__init__(id="facts")
        self.border_title = Content("Review")

    def compose(self) -> ComposeResult:
        """The text."""
        yield Paragraphs()

    def show(self, content: Content) -> None:
        """Show another text from its top."""
        self.query_one(Paragraphs).show(content)
        self.scroll_home(animate=False)


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
