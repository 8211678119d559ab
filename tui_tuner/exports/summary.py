"""A run in a few lines: what came of it, what each step brought, how it was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tui_tuner.exports import ToldRun
from tui_tuner.format import (
    configuration_words,
    cost_in_lines,
    counted_in_lines,
    duration,
    factor_in_lines,
    roofline_words,
    time_words,
)
from tui_tuner.report import title_of
from tui_tuner.session import events
from tui_tuner.strategies.steps import Step


def summary_lines(told: ToldRun) -> Iterator[str]:
    """The run in lines for people."""
    outcome, unit = told.outcome, told.outcome.time_unit
    yield f"{outcome.kernel} on {outcome.device.name}: {outcome.status.replace('_', ' ')} ({outcome.reason})"
    paired = outcome.paired_times or (None, None)
    for name, evaluation, time in (("as given", outcome.baseline, paired[0]), ("best", outcome.best, paired[1])):
        if evaluation.timing is not None:
            words = f"{time_words(time or evaluation.timing.median, unit)}{roofline_words(evaluation.share)}"
            yield f"{name:<9} {words}, {configuration_words(evaluation.configuration, between=' ')}"
    yield f"{'speed-up':<9} {factor_in_lines(outcome.speedup)}, {outcome.how_timed}"
    if outcome.library is not None:
        yield f"{'library':<9} {outcome.library.against(outcome.best)}"
    if (found := told.diagnosis) is not None:
        yield f"{'held by':<9} {found.cause}"
    if outcome.comparison is not None and outcome.comparison.determinism is not None:
        yield f"{'bits':<9} {outcome.comparison.determinism.in_words}"
    if outcome.speedup_over_tuned is not None:
        yield f"{'':<9} {factor_in_lines(outcome.speedup_over_tuned)} over the kernel as given with its tunables tuned"
    yield from (f"{'step ' + str(step.id):<9} {step_words(step)}" for step in steps_of(told))
    counts = Counter(evaluation.candidate for _, evaluation in told.evaluations)
    for candidate in told.candidates.values():
        if counts[candidate.id]:
            said = counted_in_lines(counts[candidate.id], "evaluation")
            yield f"{'kernel':<9} {candidate.id}  {title_of(candidate)}, {said}"
    failed = "".join(f", {number} {kind}" for kind, number in outcome.failures.items())
    calls = f"{counted_in_lines(outcome.model_calls, 'model call')}{cost_in_lines(outcome.cost)}"
    yield f"{'effort':<9} {counted_in_lines(outcome.evaluations, 'evaluation')}{failed}, {calls}"
    yield f"{'took':<9} {duration(outcome.elapsed_s)}, strategy {outcome.strategy}, {outcome.model or 'no model'}"
    yield f"{'in':<9} {told.run.path}"


def steps_of(told: ToldRun) -> list[Step]:
    """Every step of the plan in its last state."""
    return [*{event.step.id: event.step for event in told.told if isinstance(event, events.StepChanged)}.values()]


def step_words(step: Step) -> str:
    """Title, state, gain and reason of a step."""
    gain = "" if step.factor is None else f" {factor_in_lines(step.factor)}"
    return f"{step.title}: {step.state}{gain}{f' ({step.reason})' if step.reason else ''}"
