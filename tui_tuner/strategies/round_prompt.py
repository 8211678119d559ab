"""The prompts of the rounds: what a model needs to choose configurations, within what its context can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tui_tuner.evaluate.profiling.bottleneck import filling
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.format import time_unit, time_words
from tui_tuner.llm import Message
from tui_tuner.llm.prices import estimate_messages
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.inputs import label_of
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.nearby import around, new_ones
from tui_tuner.problem.space import SearchSpace
from tui_tuner.prompts import argument_facts, bound_facts, device_facts, launched_facts, question, render, shown_source
from tui_tuner.prompts.ranking import (
    BEST,
    RankedEvaluation,
    column_facts,
    effect_facts,
    failures,
    noise,
    promising,
    ranking,
    shared_facts,
    uncompared_facts,
    untried_facts,
)
from tui_tuner.prompts.space_facts import bounds_facts, neighbour_facts, tunable_uses
from tui_tuner.strategies.base import Effects

SYSTEM = "search_system"
MOST_ROWS = 60
"""Rows of the ranking where the context has room for them."""
_FEWEST_ROWS = 5
_ROWS_DROPPED = 5
_MOST_REMARKS = 12
"""So many rows are dropped at a time, the slowest first."""


@dataclass(frozen=True)
class SearchKnowledge:
    """All that a prompt tells of one search.

    Attributes:
        candidate: the kernel as it is searched, with what is frozen at one value.
        measured: what was measured of the candidate so far.
        memory: what earlier sessions found for kernels like this one; may be empty.
    """

    session: Effects
    candidate: Candidate
    space: SearchSpace
    measured: Sequence[RankedEvaluation]
    memory: str = ""

    @property
    def free(self) -> dict[str, tuple[bool | int | float | str, ...]]:
        """The tunables that have several values."""
        return {name: values for name, values in self.space.tunables.items() if len(values) > 1}

    def near(self, best: Configuration) -> list[Configuration]:
        """What differs from a configuration in one tunable and is not measured, the most promising first."""
        evaluations = [one.evaluation for one in self.measured]
        measured = [evaluation.configuration for evaluation in evaluations]
        return promising(best, new_ones(around(self.space, best), measured), evaluations)


@dataclass(frozen=True)
class Round:
    """What the model is asked for in one round.

    Attributes:
        number: counts from 1.
        count: configurations wanted.
        left: evaluations that are left.
        flat: whether the round before brought no improvement.
        remarks: what was wrong with the last proposals.
    """

    number: int
    count: int
    left: int
    flat: bool = False
    remarks: Sequence[str] = ()


def first_prompt(known: SearchKnowledge, wanted: Round, tokens: int | None) -> tuple[list[Message], str]:
    """The prompt of the first round, and what had to be left out of it.

    Args:
        tokens: how many a prompt may have, None if unknown.
    """

    def built(_: int, source: bool) -> list[Message]:
        names = list(known.free)
        return question(
            render(
                "first_configurations",
                situation=_situation(known, source=source),
                memory=known.memory,
                measurements=_measurements(known),
                count=wanted.count,
                size=known.space.size_in_words,
                evaluations=wanted.left,
                answer=render("search_answer", count=wanted.count, names=", ".join(names)),
            ),
            SYSTEM,
        )

    return _fitted(built, 0, tokens)


def next_prompt(known: SearchKnowledge, wanted: Round, tokens: int | None) -> tuple[list[Message], str]:
    """The prompt of a later round, and what had to be left out of it."""
    evaluations = [one.evaluation for one in known.measured]
    names = list(known.free)
    best = min(known.measured, key=lambda one: one.milliseconds)
    last, left = _last_round(known, wanted), max(0, wanted.left - wanted.count)
    remarks = "\n".join(f"  - {remark}" for remark in wanted.remarks[:_MOST_REMARKS])

    def built(rows: int, source: bool) -> list[Message]:
        return question(
            render(
                "more_configurations",
                situation=_situation(known, source=source),
                measurements=_measurements(known),
                ranking=ranking(known.measured, names, rows),
                failures=failures(known.measured, names) or "none",
                effects=effect_facts(evaluations, known.free),
                round=wanted.number,
                rounds=last,
                count=wanted.count,
                size=known.space.size_in_words,
                evaluations=wanted.left,
                best_round=best.round,
                flat="; the last round brought no improvement" if wanted.flat else "",
                noise=noise(known.measured),
                columns=column_facts(known.measured),
                facts="\n".join(_facts(known, best)),
                remarks=render("remarks", remarks=remarks) if remarks else "",
                advice=f"\n{render('reading_results')}",
                last=f"\n{render('last_round', left=left)}" if wanted.number >= last else "",
                answer=render("search_answer", count=wanted.count, names=", ".join(names)),
            ),
            SYSTEM,
        )

    timed = sum(one.evaluation.timing is not None for one in known.measured)
    return _fitted(built, min(MOST_ROWS, timed), tokens)


def _last_round(known: SearchKnowledge, wanted: Round) -> int:
    """The number of the last round that there can be."""
    session = known.session
    return min(session.options.rounds.max_rounds, wanted.number - 1 + session.budget.calls_left)


def _facts(known: SearchKnowledge, best: RankedEvaluation) -> Iterator[str]:
    """What is told of the measured ones where there is something to tell."""
    evaluations = [one.evaluation for one in known.measured]
    if shared := shared_facts(evaluations, known.free):
        yield f"- All of the best {BEST} share: {shared}."
    if untried := untried_facts(evaluations, known.space):
        yield f"- Good values that were never measured together, and can be: {untried}."
    if uncompared := uncompared_facts(evaluations, known.space):
        yield f"- The effect of these switches is not known there, only where the other one is opposite: {uncompared}."
    if best.evaluation.timing is not None:
        yield from _near(known, best.evaluation.configuration)


def _near(known: SearchKnowledge, best: Configuration) -> Iterator[str]:
    if near := known.near(best):
        told = neighbour_facts(best, near, [one.evaluation for one in known.measured])
        yield f"- Close to the best and not measured (in brackets what the same change did elsewhere): {told}."


def measured_in(session: Effects, candidate: Candidate, evaluation: Evaluation, number: int) -> RankedEvaluation:
    """An evaluation with the round that proposed it, and how its launch fills the device where that is known."""
    occupied, filled = filling(session.problem, session.bench.device, candidate, evaluation)
    return RankedEvaluation(evaluation, number, occupied, filled)


def _fitted(built: Callable[[int, bool], list[Message]], rows: int, tokens: int | None) -> tuple[list[Message], str]:
    """The prompt with as much as fits: first the slowest rows go, then the kernel's source."""
    left, source = rows, True
    messages = built(left, source)
    while tokens is not None and estimate_messages(messages) > tokens:
        if left > _FEWEST_ROWS:
            left = max(_FEWEST_ROWS, left - _ROWS_DROPPED)
        elif source:
            source = False
        else:
            break
        messages = built(left, source)
    parts = [f"all but the fastest {left} configurations"] if left < rows else []
    return messages, " and ".join([*parts, *([] if source else ["the kernel's source"])])


def _situation(known: SearchKnowledge, *, source: bool) -> str:
    session, problem, options = known.session, known.session.problem, known.session.options.rounds
    shows_source = source and options.include_kernel_source and bool(problem.source_text.strip())
    return render(
        "search_situation",
        device=f"<device>\n{device_facts(session.bench.device)}\n</device>\n" if options.hardware_context else "",
        sizes=label_of(problem.sizes),
        kernel=_kernel(known, shown=shows_source),
        launch=_launch(known),
        tunables="\n".join(_tunables(known, with_uses=shows_source)),
        restrictions="\n".join(known.candidate.restrictions) or "none",
        bounds=_bounds(known),
    )


def _bounds(known: SearchKnowledge) -> str:
    lines = bounds_facts(known.space)
    return "\n".join(["", "<bounds>", *lines, "</bounds>"]) if lines else ""


def _kernel(known: SearchKnowledge, *, shown: bool) -> str:
    language, name = known.session.problem.language, known.candidate.kernel
    source = shown_source(known.session.problem, known.candidate) if shown else "(its source is not shown)"
    return f'<kernel language="{language}" name="{name}">\n{source}\n</kernel>\n'


def _launch(known: SearchKnowledge) -> str:
    problem = known.session.problem
    launched = known.candidate.launch.model_dump(exclude_none=True, exclude_defaults=True)
    given = [*argument_facts(problem), *launched_facts(problem, known.candidate)]
    lines = [*given, *(f"{key}: {value}" for key, value in launched.items())]
    frozen = [f"{name}={values[0]}" for name, values in known.space.tunables.items() if len(values) == 1]
    lines += [f"fixed: {', '.join(frozen)}"] if frozen else []
    return "\n".join(lines) or "not known"


def _tunables(known: SearchKnowledge, *, with_uses: bool) -> list[str]:
    uses = tunable_uses(known.candidate.source, known.session.problem.language, list(known.free)) if with_uses else {}
    default = known.candidate.default_configuration
    lines: list[str] = []
    for name, values in known.free.items():
        lines.append(f"{name}: {', '.join(map(str, values))} (as given: {default[name]})")
        lines += [f"  {use}" for use in uses.get(name, [])]
    return lines


def _measurements(known: SearchKnowledge) -> str:
    session = known.session
    unit = time_unit(cpu=session.bench.device.is_cpu)
    given = session.bench.given.timing
    lines = [] if given is None else [f"the kernel as given: {time_words(given.median, unit)}"]
    best = session.incumbent.evaluation.timing
    if best is not None and session.incumbent.candidate.id != session.baseline.id:
        lines.append(f"the best kernel so far: {time_words(best.median, unit)}")
    lines += bound_facts(session.problem, session.bench.device)
    return "\n".join(lines)
