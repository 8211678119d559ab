"""One way through a strategy: what the model and the user answer, and what has to come of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.strategies.world import FIXED, UNREACHABLE, Answer, kernel, plan, played, rewrite, valid, worth
from tui_tuner.problem.model import Configuration
from tui_tuner.session.plan import Instruction
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.history import UNANSWERED
from tui_tuner.strategies.steps import Decision

NOTHING_TO_SEARCH = "Tune the parameters of the kernel as given: skipped (there is nothing to choose from)"
TUNED = "Tune the parameters of the kernel as given: accepted"
NO_JSON = "the reply is not one JSON object; answer with the JSON object and nothing else"
NEVER = f"no usable reply in 3 calls: {NO_JSON}"
NOT_REACHED = "scripted: connection refused (nowhere)"
GONE = f"the model is gone: {NOT_REACHED}"
NOT_FASTER = "not faster than the best so far"
ON_FRESH_DATA = "on fresh data, after it passed the checks: on other data"
KEPT = "not faster by itself; kept for the steps that build on it"
SKIPPED = "skipped (skipped by hand)"
SHOWS = "\n// speed "
"""Before its speed, the source of the kernel that a prompt shows; in a change each line has a sign in front."""
DELETED = "skipped (deleted by hand)"
UNTOLD = f"rejected: {UNANSWERED}"
UNWANTED = "skipped (plan not wanted)"
TIME_IS_UP = "the time is up (60 s)"

APPROVE = Decision(action="approve")
SKIP = Decision(action="skip")


def no(words: str = "") -> Decision:
    return Decision(action="reject", message=words)


def rejected(words: str) -> str:
    """How a step ends whose kernels the user rejects with these words."""
    return f"rejected (rejected by hand: {words})"


def unwanted(words: str) -> str:
    """How a step ends whose plan the user rejects with these words."""
    return f"skipped (plan rejected by hand: {words})"


def edited(source: str) -> Decision:
    return Decision(action="edit", source=source)


def nonsense(purpose: str) -> Answer:
    return purpose, "I would rather talk about the weather."


def silence(purpose: str) -> Answer:
    return purpose, UNREACHABLE


def one_prompt(speed: float = 2.0, *, fail: str = "") -> Answer:
    return "one_prompt", rewrite(kernel(speed, fail=fail))


def apply(speed: float = 2.0, *, fail: str = "") -> Answer:
    return "apply_step", rewrite(kernel(speed, fail=fail))


def declined(why: str) -> Answer:
    """A reply without code to what asks for a step's kernel."""
    return "apply_step", rewrite("", summary=why)


def planned(*steps: str) -> Answer:
    return "plan", plan(*steps)


def replanned(*steps: str) -> Answer:
    return "replan", plan(*steps)


def parts(*titles: str) -> Answer:
    return "break_down", valid(parts=titles)


YES: Answer = ("validate_step", valid())
NO: Answer = ("validate_step", valid(False, "profiling"))
WORTH: Answer = ("worth_step", worth())
NOT_WORTH: Answer = ("worth_step", worth(False, "done already"))


@dataclass(frozen=True)
class Branch:
    """A row of the table.

    Attributes:
        answers: of the model, all of which must be asked for, in this order.
        plan: lines of the plan at the end; the one about the kernel as given is left out where there is nothing to
            search.
        best: what the incumbent says of its speed at the end; 1 is the kernel as given.
        calls: of the model.
        reason: why the session ended.
        says: texts that a prompt must hold, by its number, counted from 1.
        keeps_silent: texts that it must not hold.
        passes: the states that a step passes through, by title.
        refused: what the model is told of refused replies.
        frozen: what is held, each time that it changes; None where the row does not speak of it.
        offers: values of tunables that a proposed kernel has, by its number, counted from 1.
        tries: values of tunables that its measured configurations have.
        rounds: lines of rounds in the plan, which `plan` leaves out.
    """

    name: str
    strategy: Strategy
    answers: Sequence[Answer]
    plan: Sequence[str]
    best: float
    calls: int
    reason: str = "the strategy is done"
    decisions: Sequence[Decision] = ()
    instructions: Mapping[int, Sequence[Instruction]] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    says: Mapping[int, Sequence[str]] = field(default_factory=dict)
    keeps_silent: Mapping[int, Sequence[str]] = field(default_factory=dict)
    passes: Mapping[str, str] = field(default_factory=dict)
    refused: Sequence[str] = ()
    frozen: Sequence[Configuration] | None = None
    offers: Mapping[int, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    tries: Mapping[int, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    rounds: int = 0

    @property
    def states(self) -> set[str]:
        """Every state of a step that the row speaks of."""
        ended = {found[1] for line in self.plan if (found := re.search(r": ([a-z ]+?)(?: \(|$)", line))}
        return ended | {state for passed in self.passes.values() for state in passed.split(" > ")}


async def follow(branch: Branch, directory: Path) -> None:
    """Play a row, and its replay."""
    options = {"problem": FIXED, **branch.options}
    told, script = await played(
        directory, branch.strategy, branch.answers, branch.decisions, branch.instructions, **options
    )
    plan = [line for line in told.plan() if not line.startswith("Round ")]
    assert plan == [*_before(options), *branch.plan]
    assert len(told.plan()) - len(plan) == branch.rounds
    assert script.answers == []
    assert told.finished.model_calls == len(script.requests) == branch.calls
    assert told.finished.reason == branch.reason
    assert told.best_speed == branch.best
    assert told.finished.status == ("finished" if told.best else "no_improvement")
    assert told.refused == list(branch.refused)
    for title, states in branch.passes.items():
        assert " > ".join(told.states[title]) == states
    for number, tunables in branch.offers.items():
        assert {name: told.proposed[number - 1].tunables[name] for name in tunables} == tunables
    for number, tunables in branch.tries.items():
        assert {name: told.tried(told.proposed[number - 1], name) for name in tunables} == tunables
    assert branch.frozen is None or told.frozen == branch.frozen
    for number, texts in branch.says.items():
        assert [text for text in texts if text not in script.prompt(number)] == []
    for number, texts in branch.keeps_silent.items():
        assert [text for text in texts if text in script.prompt(number)] == []


def _before(options: Mapping[str, object]) -> Iterator[str]:
    if options["problem"] == FIXED:
        yield NOTHING_TO_SEARCH


def rows(*tables: Sequence[Branch]) -> list[object]:
    """The rows for `parametrize`."""
    return [pytest.param(row, id=f"{row.strategy.name}: {row.name}") for table in tables for row in table]
