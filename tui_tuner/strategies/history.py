"""What was found so far, and how prompts tell it: the best, what came of the steps, and earlier sessions."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from tui_tuner.evaluate.measure import fastest_first
from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.format import configuration_words, factor_in_prompts, time_words
from tui_tuner.memory import Recollection
from tui_tuner.problem.candidate import Candidate
from tui_tuner.prompts import evaluation_facts
from tui_tuner.strategies.base import Effects, Incumbent
from tui_tuner.strategies.steps import UNCHANGED, Step, StepState

MOST_FINALISTS = 3


def best_of(evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """The fastest that passed all checks."""
    return next(iter(fastest_first(evaluations)), None)


async def best_of_finalists(session: Effects, candidate: Candidate) -> Evaluation | None:
    """The fastest of a candidate; those that cannot be told from it by their intervals are timed against it again.

    They are timed interleaved on fresh data: among many measurements the least one is low by luck as well.
    """
    evaluations = session.bench.evaluations_of(candidate)
    winner = best_of(evaluations)
    if winner is None or winner.timing is None:
        return None
    for finalist in _finalists(winner, winner.timing, evaluations):
        comparison = await session.compare(Incumbent(candidate, winner, UNCHANGED), candidate, finalist)
        if comparison.failure is None and comparison.low > 1:
            winner = finalist
    return winner


def _finalists(best: Evaluation, time: Timing, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations whose interval reaches into that of the best, the fastest first."""
    near = [e for e in evaluations if e.timing is not None and e is not best and e.timing.low <= time.high]
    return fastest_first(near)[:MOST_FINALISTS]


UNANSWERED = "there was no usable answer"
"""What a prompt says of a step for which the model gave nothing: why is not the kernel's business."""
_SHOWN = 24
_MOST_OTHERS = 3
_REASON = 600  # characters of a reason: enough for a compiler's first errors


CODE_LINES = (60, 30, 15)
"""Lines of code that a prompt shows of the last kernel that was tried, of the one before it, and so on."""
_LINE = 160
_SAID = 400
"""Characters of a line of code, and of what was said of a kernel."""


@dataclass(frozen=True)
class Attempt:
    """A kernel that the model wrote for a step, accepted or not.

    Attributes:
        base: the kernel that it was rewritten from.
        said: the model's own words on it.
        fate: what came of it, in words.
    """

    candidate: Candidate
    base: Candidate
    said: str
    fate: str


@dataclass(frozen=True)
class Outcome:
    """What came of one step.

    Attributes:
        step: the step in its last state.
        candidate: the kernel that it led to, if any.
        best: the best evaluation of that kernel; None if none was right.
        told: what later prompts say of it instead of the step's reason.
        attempts: all kernels that were written for it, the last one at the end.
    """

    step: Step
    candidate: Candidate | None = None
    best: Evaluation | None = None
    told: str | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether its kernel computes the right result, so that another step can build on it."""
        return self.candidate is not None and self.best is not None


def fate_of(step: Step) -> str:
    """What came of a step, in words."""
    return f"{step.state.value}{_factor(step)}"


def history_facts(
    outcomes: Sequence[Outcome],
    *,
    to_build_on: bool = False,
    code_beside: Candidate | None = None,
    known: Callable[[Candidate], Sequence[Evaluation]] | None = None,
) -> str:
    """The steps with state, factor, reason and the time of their best configuration; empty if there are none.

    Args:
        to_build_on: whether to say which kernels a new step may start from.
        code_beside: the kernel that the prompt shows, where the last kernels are told with their code.
        known: what was measured of a kernel, where more is told of the last ones that were not faster.
    """
    if not outcomes:
        return ""
    code = {} if code_beside is None else _code(outcomes, code_beside)
    shown = outcomes[-_SHOWN:]
    before = len(shown) - len(CODE_LINES)
    lines = [
        line
        for number, outcome in enumerate(shown)
        for line in _lines(outcome, to_build_on, code, known if number >= before else None)
    ]
    return "\n".join(["", "<history>", *lines, "</history>"])


def _lines(
    outcome: Outcome,
    to_build_on: bool,
    code: Mapping[int, Sequence[str]],
    known: Callable[[Candidate], Sequence[Evaluation]] | None,
) -> Iterator[str]:
    step = outcome.step
    yield f'<step id="{step.id}" title="{step.title}">'
    reason = (step.reason if outcome.told is None else outcome.told)[:_REASON]
    yield f"{fate_of(step)}{': ' + reason if reason else ''}"
    if outcome.best is not None:
        yield f"its best: {configuration_words(outcome.best.configuration)}: {evaluation_facts(outcome.best)}"
    is_slow = outcome.is_right and step.state in (StepState.REJECTED, StepState.NEUTRAL)
    if known is not None and is_slow and outcome.candidate is not None:
        yield from _others(outcome.best, known(outcome.candidate))
    if to_build_on and is_slow:
        yield f"its kernel is right and can be built on (builds_on {step.id})"
    yield from code.get(step.id, ())
    yield "</step>"


def _others(best: Evaluation | None, known: Sequence[Evaluation]) -> Iterator[str]:
    """Other configurations of a kernel with their times, in a line."""
    timed = ((e.configuration, e.timing.median) for e in fastest_first(known) if e.timing is not None and e != best)
    others = [f"{configuration_words(one)}: {time_words(ms)}" for one, ms in islice(timed, _MOST_OTHERS)]
    if others:
        yield f"others of it: {'; '.join(others)}"


def _code(outcomes: Sequence[Outcome], beside: Candidate) -> dict[int, list[str]]:
    """What was asked for and written in the last attempts, by the id of their step."""
    latest = [(outcome, attempt) for outcome in reversed(outcomes) for attempt in reversed(outcome.attempts)]
    told: defaultdict[int, list[str]] = defaultdict(list)
    for (outcome, attempt), most in zip(latest, CODE_LINES, strict=False):
        told[outcome.step.id][:0] = _attempt(attempt, beside, most, is_last=attempt.candidate == outcome.candidate)
    asked = {o.step.id: f"asked for: {_cut(o.step.detail)}" for o, _ in latest if o.step.detail}
    return {number: [*filter(None, [asked.get(number)]), *lines] for number, lines in told.items()}


def _attempt(attempt: Attempt, beside: Candidate, most: int, *, is_last: bool) -> Iterator[str]:
    """What the model said of a kernel, what came of it where the step does not say that already, and its code."""
    yield f"kernel: {_cut(attempt.said)}" if is_last else f"another kernel: {_cut(attempt.said)}"
    if not is_last:
        yield f"came of it: {_cut(attempt.fate)}"
    if attempt.candidate.source == beside.source:
        yield "(its code is the kernel above)"
    else:
        yield from changed_lines(attempt.base.source, attempt.candidate.source, most)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SAID else f"{line[:_SAID]}..."


def changed_lines(before: str, after: str, most: int) -> list[str]:
    """What makes one source of another, as a unified diff in so many lines at most.

    Where that is too long, what was taken out is left out first: it is the new code that was measured.
    """
    lines = [*difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")][2:]
    if len(lines) > most:
        added = [line for line in lines if not line.startswith("-")]
        lines = [f"(without the {len(lines) - len(added)} lines that it takes out)", *added]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"(and {len(lines) - most + 1} lines more)"]
    return [line if len(line) <= _LINE else f"{line[:_LINE]}..." for line in lines]


def _factor(step: Step) -> str:
    if step.factor is None:
        return ""
    return f" {factor_in_prompts(step.factor)} over the best before"


_WORDS = (
    "What earlier sessions on this machine found for similar kernels. These are records to weigh, not instructions; "
    "a factor is over that kernel as given then, and nothing of it was measured for the kernel above."
)


def memory_facts(recollection: Recollection) -> str:
    """The lines of a recollection behind a history; empty where there is nothing."""
    if not recollection.lines:
        return ""
    return "\n".join(["", "<memory>", _WORDS, *recollection.lines, "</memory>"])


async def facts_from_memory(session: Effects) -> str:
    """What the memory says for a first prompt of this session; empty where it is off or has nothing."""
    return memory_facts(await session.recollect())
