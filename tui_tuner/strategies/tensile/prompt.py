"""The prompts of a Tensile session: what a model needs to edit a configuration, within what its context can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from tui_tuner.llm.base import Message
from tui_tuner.llm.tokens import estimate_messages
from tui_tuner.prompts.render import question, render
from tui_tuner.strategies.tensile.facts import (
    configuration_facts,
    history_facts,
    other_parameter_facts,
    parameter_facts,
    problem_facts,
    rejection_facts,
    result_facts,
    term_facts,
    value_facts,
)
from tui_tuner.strategies.tensile.history import History
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.known import Knowledge

SYSTEM = "tensile_system"


class Detail(IntEnum):
    """How much a prompt says; each level leaves out what the ones above it have and it does not."""

    ALL = 0
    FEWER_RANKED = 1
    NO_OTHER_PARAMETERS = 2
    WINNERS_ONLY = 3
    LEAST = 4


_LEFT_OUT = {
    Detail.FEWER_RANKED: "the lower half of the rankings",
    Detail.NO_OTHER_PARAMETERS: "and what the parameters mean that the file does not name",
    Detail.WINNERS_ONLY: "and all but the winners",
    Detail.LEAST: "and the terms",
}
_RANKED = {Detail.ALL: 8, Detail.FEWER_RANKED: 4, Detail.NO_OTHER_PARAMETERS: 4}


@dataclass(frozen=True)
class Ask:
    """What a prompt is about.

    Attributes:
        gpu: facts in words; may be empty.
        limit: permutations allowed.
        permutations_left: that may still be measured, None for no limit.
        number: of the round.
        rounds: at most.
        flat: whether the round before gained nothing.
        why: what an edit before the first run is for; None once there are results.
    """

    configuration: Configuration
    history: History
    knowledge: Knowledge
    gpu: str
    limit: int
    permutations_left: int | None
    number: int
    rounds: int
    flat: bool = False
    why: str | None = None

    @property
    def purpose(self) -> str:
        """Names the prompt."""
        return "tensile_next" if self.why is None else "tensile_first"


def prompt(asked: Ask, tokens: int | None) -> tuple[list[Message], str]:
    """The prompt, and what had to be left out of it.

    Args:
        tokens: that it may have, None if unknown.
    """
    built: list[Message] = []
    for detail in Detail:
        built = question(_text(asked, detail), SYSTEM)
        if tokens is None or estimate_messages(built) <= tokens:
            return built, _left_out(detail)
    return built, f"{_left_out(Detail.LEAST)}; it may still be too long"


def _left_out(detail: Detail) -> str:
    return " ".join(words for level, words in _LEFT_OUT.items() if level <= detail)


def _text(asked: Ask, detail: Detail) -> str:
    situation = _situation(asked, detail)
    answer = render(
        "tensile_answer",
        permutations=_count(asked.configuration),
        limit=f"{asked.limit:,}",
        left="" if asked.permutations_left is None else f"To be measured in all: {asked.permutations_left:,} more.",
        seconds=_cost(asked.history),
    )
    if asked.why is not None:
        history = history_facts(asked.history)
        return render("tensile_first", situation=situation, history=history, task=asked.why, answer=answer)
    ranked = _RANKED.get(detail, 1)
    last = asked.history.successes[-1]
    return render(
        "tensile_next",
        situation=situation,
        history=history_facts(asked.history),
        results=result_facts(asked.history, ranked, slowest=detail < Detail.WINNERS_ONLY),
        values=value_facts(last.outcome),
        rejected=rejection_facts(last.outcome) or "none, or not told",
        round=asked.number,
        rounds=asked.rounds,
        flat=" The last one brought no gain." if asked.flat else "",
        answer=answer,
    )


def _situation(asked: Ask, detail: Detail) -> str:
    configuration, knowledge = asked.configuration, asked.knowledge
    parameters = parameter_facts(configuration, knowledge)
    if detail < Detail.NO_OTHER_PARAMETERS:
        parameters += (
            f"\nNot named in the file, so at their defaults:\n{other_parameter_facts(configuration, knowledge)}"
        )
    return render(
        "tensile_situation",
        gpu=asked.gpu or "unknown",
        problem=problem_facts(configuration),
        configuration=configuration_facts(configuration),
        parameters=parameters,
        terms="" if detail is Detail.LEAST else term_facts(knowledge),
    )


def _count(configuration: Configuration) -> str:
    groups: Sequence[int] = [group.permutations for group in configuration.size_groups]
    parts = f" ({' + '.join(f'{count:,}' for count in groups)} of the size groups)" if len(groups) > 1 else ""
    return f"{configuration.permutations:,}{parts}"


def _cost(history: History) -> str:
    timed = [one for one in history.successes if one.configuration.permutations and one.outcome.seconds]
    if not timed:
        return "not measured yet."
    last = timed[-1]
    each = last.outcome.seconds / last.configuration.permutations
    return f"the last run took {last.outcome.seconds:.0f} s, {each:.2g} s a permutation with what is fixed."
