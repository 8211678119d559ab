"""The report of a run: what was tried and found, how it was verified and timed, and where."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator

from tui_tuner.exports import ToldRun, steps_of
from tui_tuner.exports.blocks import Block, CodeBlock, FactList, Heading, Paragraph, Table
from tui_tuner.exports.plots import plots_of
from tui_tuner.format import (
    configuration_words,
    cost_in_lines,
    counted_in_lines,
    duration,
    factor_in_lines,
    roofline_words,
    time_words,
)
from tui_tuner.problem.candidate import Candidate, geometry
from tui_tuner.problem.inputs import label_of
from tui_tuner.report import best_text, title_of
from tui_tuner.session import events

_MOST_FAILURES = 12


def report_title(told: ToldRun) -> str:
    """Kernel, device and gain in one line."""
    return f"{told.outcome.kernel} on {told.device.name}: {factor_in_lines(told.outcome.speedup)}"


def report_blocks(told: ToldRun, *, pictures: bool = True) -> list[Block]:
    """The whole report.

    Args:
        pictures: whether there are plots, which takes a library that loads for half a second.
    """
    plots: list[Block] = [Heading("Plots"), *plots_of(told)] if pictures else []
    return [*_found(told), *_tried(told), *plots, *_verified(told), *_environment(told)]


def _found(told: ToldRun) -> Iterator[Block]:
    outcome, unit = told.outcome, told.outcome.time_unit
    yield Paragraph(
        f"The best is {factor_in_lines(outcome.speedup)} as fast as the kernel as given "
        f"(median and 95 % interval, {outcome.how_timed}). "
        f"The session is {outcome.status.replace('_', ' ')}: {outcome.reason}."
    )
    if outcome.device.is_cpu:
        yield Paragraph("Times are those of a CPU and say nothing about a GPU.")
    given, best = outcome.paired_times or (None, None)
    rows = []
    for name, evaluation, paired in (("as given", outcome.baseline, given), ("best", outcome.best, best)):
        if evaluation.timing is not None:
            time = f"{time_words(paired or evaluation.timing.median, unit)}{roofline_words(evaluation.share)}"
            rows.append([name, time, configuration_words(evaluation.configuration)])
    yield Table(["", "time", "configuration"], rows)
    if outcome.library is not None:
        yield Paragraph(f"A library computes the same: {outcome.library.against(outcome.best)}.")
    if (found := told.diagnosis) is not None:
        yield Paragraph(f"What holds the best back: {found.cause}")
        yield FactList(found.facts)
    if told.problem.is_compiled:
        yield from _tuned(told)
    elif outcome.best.as_written:
        yield CodeBlock("The best configuration, ready to paste", outcome.best.as_written, "python")


def _tuned(told: ToldRun) -> Iterator[Block]:
    """How the best is launched, and its source."""
    outcome = told.outcome
    launched = geometry(told.best.launch, told.problem.sizes, outcome.best.configuration)
    sizes = label_of(told.problem.sizes)
    shared = f"{launched.shared_bytes} bytes of dynamic shared memory"
    yield Paragraph(f"Launched at {sizes} with grid {launched.grid}, block {launched.block} and {shared}.")
    source = told.problem.kernel.source
    yield CodeBlock(
        f"The tuned kernel, ready to paste ({source})", best_text(told.run.problem, told.best, outcome), "cpp"
    )


def _tried(told: ToldRun) -> Iterator[Block]:
    yield Heading("What was tried")
    rows = [
        [
            str(step.id),
            step.title,
            str(step.state),
            factor_in_lines(step.factor) if step.factor else "",
            _why(told, step.id),
        ]
        for step in steps_of(told)
    ]
    yield Table(["step", "title", "state", "gain", "why"], rows)
    yield from _diffs(told)
    counts = Counter(evaluation.candidate for _, evaluation in told.evaluations)
    kernels = [[k.id, title_of(k), str(counts[k.id])] for k in told.candidates.values() if counts[k.id]]
    yield Table(["kernel", "title", "evaluations"], kernels)
    if told.outcome.failures:
        yield Table(["failure", "evaluations", "as in"], [*_failures(told)])


def _why(told: ToldRun, step: int) -> str:
    """The reason that a step ended with, else what the model said of it."""
    state = next(found for found in steps_of(told) if found.id == step)
    said = [
        e.rationale for e in told.told if isinstance(e, events.CandidateProposed) and e.step == step and e.rationale
    ]
    return state.reason or (said[-1] if said else state.detail)


def _diffs(told: ToldRun) -> Iterator[Block]:
    """What each proposed kernel changes of the best of its time."""
    best, titles = told.candidates[told.outcome.baseline.candidate], {step.id: step.title for step in steps_of(told)}
    for event in told.told:
        match event:
            case events.IncumbentChanged():
                best = event.candidate
            case events.CandidateProposed(candidate=Candidate() as candidate) if candidate.source != best.source:
                title = f"Step {event.step}, {titles.get(event.step, '')}: what it changes"
                yield CodeBlock(title, _diff(best.source, candidate.source), "diff")


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "best", "proposed", lineterm="")
    return "\n".join(lines)


def _failures(told: ToldRun) -> Iterator[list[str]]:
    """Each kind of failure with its first case."""
    first: dict[str, str] = {}
    for _, evaluation in told.evaluations:
        if evaluation.failure is not None:
            words = f"{configuration_words(evaluation.configuration)}: {evaluation.failure.message}"
            first.setdefault(str(evaluation.failure.kind), words)
    for kind, count in [*told.outcome.failures.items()][:_MOST_FAILURES]:
        yield [kind, str(count), first.get(kind, "")]


def _verified(told: ToldRun) -> Iterator[Block]:
    problem, comparison = told.problem, told.outcome.comparison
    yield Heading("How it was verified and timed")
    if told.is_record:
        yield Paragraph("Nothing was run: times and failures are those of the recording.")
        return
    against = "the kernel as given" if problem.reference is None else f"the reference {problem.reference.python}"
    sizes = [label_of({**problem.sizes, **test.sizes}, test.inputs) for test in problem.tests]
    yield Paragraph(
        f"Every configuration was checked against {against} on random inputs at {label_of(problem.sizes)}"
        f"{' and at ' + '; '.join(sizes) if sizes else ''}, "
        "its outputs poisoned before each launch, guards beside the arrays."
    )
    noted = [
        e.text for e in told.told if isinstance(e, events.Note) and e.text.startswith(("verified as", "not checked"))
    ]
    yield from map(Paragraph, noted)
    if told.outcome.best.error is not None:
        yield Paragraph(f"Largest deviation of the best: {told.outcome.best.error:.2g} of what is allowed.")
    if comparison is not None and comparison.failure is None:
        words = factor_in_lines(comparison.factor)
        yield Paragraph(f"At the end both were timed in turns on data new to them: {comparison.pairs} pairs, {words}.")
    if comparison is not None and comparison.determinism is not None:
        yield Paragraph(f"Launched again and again, the best: {comparison.determinism.in_words}.")
    if told.outcome.speedup_over_tuned is not None:
        words = factor_in_lines(told.outcome.speedup_over_tuned)
        yield Paragraph(f"Over the kernel as given with its own tunables tuned, timed in the same way: {words}.")


def _environment(told: ToldRun) -> Iterator[Block]:
    outcome, device, options = told.outcome, told.device, told.run.options
    yield Heading("Environment")
    calls = f"{counted_in_lines(outcome.model_calls, 'model call')}{cost_in_lines(outcome.cost)}"
    rows = [
        ("device", f"{device.name} ({device.kind} {device.architecture})".replace(" )", ")")),
        ("driven by", device.backend),
        ("toolchain", device.toolchain),
        ("builds", outcome.sandbox),
        ("program", f"tuner-tui {outcome.program}"),
        ("begun", str(told.run.journal.header.get("created", ""))),
        ("strategy", outcome.strategy),
        ("model", outcome.model or "none"),
        ("search", str(options.search)),
        ("seed", str(outcome.seed)),
        ("effort", f"{counted_in_lines(outcome.evaluations, 'evaluation')}, {calls}, {duration(outcome.elapsed_s)}"),
    ]
    if outcome.model_fault:
        rows.append(("model was of no use", outcome.model_fault))
    yield Table(["", ""], [[name, words] for name, words in rows if words])
