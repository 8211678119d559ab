"""The prompts of a session: what a model needs to edit a configuration, within what its context can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tui_tuner.llm import Message
from tui_tuner.llm.prices import estimate_messages
from tui_tuner.prompts import question, render
from tui_tuner.tensile.document import BenchmarkConfiguration, ParameterValue, SizeGroup, value_text
from tui_tuner.tensile.document.edits import alternative_text
from tui_tuner.tensile.history import History, MeasuredRound
from tui_tuner.tensile.knowledge.known import Knowledge
from tui_tuner.tensile.outcome import Contender, ParameterValues, RoundOutcome, SizeOutcome, size_text

_SIZES = 40
"""Problem sizes that are listed at most."""
_REASONS = 12
_PROBLEM_KEYS = (
    "OperationType", "DataType", "DestDataType", "ComputeDataType", "HighPrecisionAccumulate", "TransposeA",
    "TransposeB", "UseBeta", "Batched", "StridedBatched", "GroupedGemm", "Sparse", "UseBias", "Activation",
    "ActivationType", "UseScaleAB", "UseScaleCD", "UseScaleAlphaVec", "UseE", "Gradient", "F32XdlMathOp",
)  # fmt: skip
_ONLY_WITH = {"Metadata": "Sparse", "Sparse": "Sparse", "MX": "MX", "Activation": "Activation"}
"""Parts of names of parameters, with the key of the problem type that they have to do with."""
ROOM = "tui_tuner.tensile.prompts"
SYSTEM = "tensile_system"


def problem_facts(configuration: BenchmarkConfiguration) -> str:
    """Types and sizes of every size group."""
    return "\n".join(line for group in configuration.size_groups for line in _problem(group))


def _problem(group: SizeGroup) -> Iterator[str]:
    told = ", ".join(f"{key} {group.problem_type[key]}" for key in _PROBLEM_KEYS if key in group.problem_type)
    yield f"size group {group.number}: {told}"
    shown = [*map(size_text, group.sizes.listed), *group.sizes.convolutions][:_SIZES]
    more = group.sizes.count - len(shown)
    yield f"  {group.sizes.count} problem sizes: {', '.join(shown)}{f' and {more} more' if more > 0 else ''}"
    if group.arguments > 1:
        yield f"  each run {group.arguments} times, for bias types, activations and the like"


def configuration_facts(configuration: BenchmarkConfiguration) -> str:
    """What every size group forks and holds, with the count behind each."""
    return "\n".join(line for group in configuration.size_groups for line in _space(group))


def _space(group: SizeGroup) -> Iterator[str]:
    yield f"size group {group.number}: {group.permutations:,} permutations"
    for name, values in group.forked.items():
        yield f"  forked, {len(values)} values: {name}: [{', '.join(map(value_text, values))}]"
    for number, alternatives in enumerate(group.groups):
        yield f"  group {number}, {len(alternatives)} alternatives:"
        yield from (f"    {alternative_text(alternative)}" for alternative in alternatives)
    if group.constants:
        held = ", ".join(f"{name} {value_text(value)}" for name, value in group.constants.items())
        yield f"  constant: {held}"


def parameter_facts(configuration: BenchmarkConfiguration, knowledge: Knowledge) -> str:
    """What the parameters mean that the file names, and the values that Tensile takes."""
    names = sorted(configuration.named_parameters)
    return "\n".join(_parameter(name, knowledge) for name in names)


def other_parameter_facts(configuration: BenchmarkConfiguration, knowledge: Knowledge) -> str:
    """The facts of all other parameters that Tensile has."""
    named, table = configuration.named_parameters, knowledge.table
    types = [group.problem_type for group in configuration.size_groups]
    names = (name for name in sorted(table.names) if name not in named and not table.is_unchecked(name))
    return "\n".join(_parameter(name, knowledge) for name in names if _concerns(name, types))


def _concerns(name: str, types: Sequence[Mapping[str, object]]) -> bool:
    """Whether a parameter can matter for such problems: those of sparse matrices or of scales do so only there."""
    if name.startswith("Debug"):
        return False
    needs = next((key for part, key in _ONLY_WITH.items() if part in name), None)
    return needs is None or any(str(key).startswith(needs) and value for one in types for key, value in one.items())


def _parameter(name: str, knowledge: Knowledge) -> str:
    table = knowledge.table
    values = table.words(name) if name in table.names else "not in the table of valid values"
    default = f"; default {value_text(value)}" if (value := table.default(name)) is not None else ""
    meaning = knowledge.words.explain(name)
    return f"{name} ({values}{default}){f': {meaning}' if meaning else ''}"


def term_facts(knowledge: Knowledge) -> str:
    """General terms."""
    return "\n".join(f"{name}: {words}" for name, words in knowledge.words.terms.items())


def history_facts(history: History) -> str:
    """What every round did and brought, a line or two each."""
    lines = [line for one in history.rounds for line in _round(one)]
    return "\n".join([*lines, *history.remarks]) or "nothing yet"


def _round(one: MeasuredRound) -> Iterator[str]:
    given = "edited by hand" if one.number else "the configuration as given"
    what = "; ".join(edit.words() for edit, _, _ in one.edits) or given
    yield f"round {one.number}, {one.configuration.permutations:,} permutations: {what}"
    if one.outcome.failure is not None:
        failure = one.outcome.failure
        yield f"  failed, so its edits are not in force: {failure.kind}: {failure.message}"
    else:
        gain = "the first results" if one.gain is None else f"{one.gain - 1:+.1%} over the best before it"
        yield f"  {one.outcome.seconds:.0f} s, {gain}"


def result_facts(history: History, ranked: int, *, slowest: bool) -> str:
    """The ranking of the last run at every size, with the best so far where that is older."""
    last = history.successes[-1]
    varied = {group.number: group.varied for group in last.configuration.size_groups}
    shown = last.outcome.sizes[:_SIZES]
    lines = [
        line for size in shown for line in _size(size, history, varied.get(size.group, []), ranked, slowest=slowest)
    ]
    if len(last.outcome.sizes) > len(shown):
        lines.append(f"and {len(last.outcome.sizes) - len(shown)} more sizes")
    return "\n".join(lines)


def _size(size: SizeOutcome, history: History, varied: Sequence[str], ranked: int, *, slowest: bool) -> Iterator[str]:
    failed = f", {size.failed} failed validation" if size.failed else ""
    yield f"size group {size.group}, {size_text(size.size)}: {size.measured} solutions timed{failed}"
    best = history.winners.get(size.place)
    held = history.held.get(size.place)
    if best is not None and held and (size.winner is None or not history.is_same(size.winner, held)):
        yield f"  best so far, of round {best.round}: {best.gflops:.0f} GFLOP/s: {values_text(best.values)}"
    yield from (_contender(number, one, varied) for number, one in enumerate(size.ranked[:ranked], start=1))
    if slowest:
        yield from (f"  slow: {one.gflops:.0f} GFLOP/s: {_values(one.values, varied)}" for one in size.slowest)


def _contender(number: int, contender: Contender, varied: Sequence[str]) -> str:
    return f"  {number}. {contender.gflops:.0f} GFLOP/s: {_values(contender.values, varied)}"


def _values(values: ParameterValues, varied: Sequence[str]) -> str:
    return values_text({name: values[name] for name in varied if name in values})


def values_text(values: Mapping[str, ParameterValue]) -> str:
    """Parameters with their values, on one line."""
    return ", ".join(f"{name} {value_text(value)}" for name, value in values.items()) or "the only permutation"


def value_facts(outcome: RoundOutcome) -> str:
    """For each value of a parameter, how fast the solutions with it were."""
    return (
        "\n".join(
            f"size group {effect.group}: {effect.parameter} {value_text(effect.value)}: best {effect.best:.1%}, "
            f"median {effect.median:.1%} of the winner's speed, {effect.solutions} solutions"
            for effect in outcome.effects
        )
        or "nothing is varied"
    )


def rejection_facts(outcome: RoundOutcome) -> str:
    """How many permutations Tensile rejected, and why."""
    lines: list[str] = []
    for group in outcome.groups:
        if group.solutions is not None:
            lines.append(f"size group {group.group}: {group.solutions:,} of {group.permutations:,} were built")
        reasons = sorted(group.rejected.items(), key=lambda pair: -pair[1])[:_REASONS]
        lines += [f"  {count} rejected: {reason}" for reason, count in reasons]
        if group.duplicates:
            lines.append(f"  {group.duplicates} dropped as duplicates: they derive to the same solution as another one")
    return "\n".join(lines)


class PromptDetail(IntEnum):
    """How much a prompt says; each level leaves out what the ones above it have and it does not."""

    ALL = 0
    FEWER_RANKED = 1
    NO_OTHER_PARAMETERS = 2
    WINNERS_ONLY = 3
    LEAST = 4


_LEFT_OUT = {
    PromptDetail.FEWER_RANKED: "the lower half of the rankings",
    PromptDetail.NO_OTHER_PARAMETERS: "and what the parameters mean that the file does not name",
    PromptDetail.WINNERS_ONLY: "and all but the winners",
    PromptDetail.LEAST: "and the terms",
}
_RANKED = {PromptDetail.ALL: 8, PromptDetail.FEWER_RANKED: 4, PromptDetail.NO_OTHER_PARAMETERS: 4}


@dataclass(frozen=True)
class PromptContext:
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

    configuration: BenchmarkConfiguration
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


def prompt(asked: PromptContext, tokens: int | None) -> tuple[list[Message], str]:
    """The prompt, and what had to be left out of it.

    Args:
        tokens: that it may have, None if unknown.
    """
    built: list[Message] = []
    for detail in PromptDetail:
        built = question(_text(asked, detail), SYSTEM, ROOM)
        if tokens is None or estimate_messages(built) <= tokens:
            return built, _left_out(detail)
    return built, f"{_left_out(PromptDetail.LEAST)}; it may still be too long"


def _left_out(detail: PromptDetail) -> str:
    return " ".join(words for level, words in _LEFT_OUT.items() if level <= detail)


def _text(asked: PromptContext, detail: PromptDetail) -> str:
    situation = _situation(asked, detail)
    answer = render(
        "tensile_answer",
        ROOM,
        permutations=_count(asked.configuration),
        limit=f"{asked.limit:,}",
        left="" if asked.permutations_left is None else f"To be measured in all: {asked.permutations_left:,} more.",
        seconds=_cost(asked.history),
    )
    if asked.why is not None:
        history = history_facts(asked.history)
        return render("tensile_first", ROOM, situation=situation, history=history, task=asked.why, answer=answer)
    ranked = _RANKED.get(detail, 1)
    last = asked.history.successes[-1]
    return render(
        "tensile_next",
        ROOM,
        situation=situation,
        history=history_facts(asked.history),
        results=result_facts(asked.history, ranked, slowest=detail < PromptDetail.WINNERS_ONLY),
        values=value_facts(last.outcome),
        rejected=rejection_facts(last.outcome) or "none, or not told",
        round=asked.number,
        rounds=asked.rounds,
        flat=" The last one brought no gain." if asked.flat else "",
        answer=answer,
    )


def _situation(asked: PromptContext, detail: PromptDetail) -> str:
    configuration, knowledge = asked.configuration, asked.knowledge
    parameters = parameter_facts(configuration, knowledge)
    if detail < PromptDetail.NO_OTHER_PARAMETERS:
        parameters += (
            f"\nNot named in the file, so at their defaults:\n{other_parameter_facts(configuration, knowledge)}"
        )
    return render(
        "tensile_situation",
        ROOM,
        gpu=asked.gpu or "unknown",
        problem=problem_facts(configuration),
        configuration=configuration_facts(configuration),
        parameters=parameters,
        terms="" if detail is PromptDetail.LEAST else term_facts(knowledge),
    )


def _count(configuration: BenchmarkConfiguration) -> str:
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
