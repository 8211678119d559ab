"""The report of a run: what was tried and found, how it was verified and timed, and where; with pictures, as SVG.

Roofline: S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009; its ceilings are those that were measured.
"""

from __future__ import annotations

import difflib
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tui_tuner.evaluate.profiling.roofline import roofline
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.exports import ToldRun, calls_words, steps_of
from tui_tuner.exports.blocks import Block, CodeBlock, FactList, Heading, Paragraph, Plot, Table
from tui_tuner.format import (
    configuration_words,
    counted_in_lines,
    duration,
    factor_in_lines,
    roofline_words,
    time_words,
    tunable_value,
)
from tui_tuner.problem.candidate import Candidate, geometry
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import label_of
from tui_tuner.problem.triton import kernel_text
from tui_tuner.report import best_text, title_of
from tui_tuner.session import events

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_GIVEN, _BEST, _OTHER, _FAILED = "#8a8a8a", "#0b7a4b", "#4c78a8", "#c0392b"
_MOST_TUNABLES = 12
_WIDTH = 8  # inches


def plots_of(told: ToldRun) -> list[Plot]:
    """The pictures that the run has something for."""
    found = (_best_so_far(told), _tunables(told), roofline_of(told))
    return [plot for plot in found if plot is not None]


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure  # half a second, for who wants a picture

    return Figure(figsize=(_WIDTH, height), layout="constrained")


def _svg(figure: Figure, name: str) -> str:
    """The figure as an element; its ids are its own, for there are several in a page."""
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", svg)


def _best_so_far(told: ToldRun) -> Plot | None:
    """Each evaluation's time in its order, and the least until then."""
    times = [e.ms for _, e in told.evaluations]
    timed = [(number, time) for number, time in enumerate(times) if time is not None]
    if not timed:
        return None
    from matplotlib.ticker import MaxNLocator

    figure = _figure(3.6)
    axes = figure.subplots()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    numbers, values = zip(*timed, strict=True)
    axes.scatter(numbers, values, s=14, color=_OTHER, label="evaluation", zorder=2)
    failed = [number for number, time in enumerate(times) if time is None]
    if failed:
        axes.scatter(failed, [max(values)] * len(failed), marker="x", s=18, color=_FAILED, label="failed", zorder=2)
    least = [*accumulate(values, min), min(values)]
    axes.step([*numbers, len(times) - 1], least, where="post", color=_BEST, label="best so far")
    axes.axhline(values[0], color=_GIVEN, linestyle="--", linewidth=1, label="as given")
    _label(axes, "evaluation", f"{told.outcome.time_unit} (log)")
    axes.legend(frameon=False, fontsize=8)
    caption = "Time of each configuration in the order of evaluation; failed ones stand at the top."
    return Plot(caption, _svg(figure, "best"))


def _label(axes: Axes, x: str, y: str) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    few = high > 3 * low  # over a wide range not every tick has room for its number
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:g}" if not few or f"{value:e}"[0] in "235" else "")
    )
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def _tunables(told: ToldRun) -> Plot | None:
    """Times of the best kernel by the value of each tunable that has several."""
    kernel = told.best
    timed = [e for e in told.evaluations_of(kernel) if e.timing is not None]
    names = [name for name in kernel.tunables if len({repr(e.configuration.get(name)) for e in timed}) > 1]
    names = names[:_MOST_TUNABLES]
    if not names:
        return None
    columns = min(3, len(names))
    rows = math.ceil(len(names) / columns)
    figure = _figure(2.5 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for name, axes in zip(names, grid.flat, strict=False):
        _by_value(axes, name, kernel.tunables[name], timed, told)
    for axes in list(grid.flat)[len(names) :]:
        axes.set_visible(False)
    caption = "Times of the best kernel by the value of each tunable; the line joins the fastest at each value."
    return Plot(caption, _svg(figure, "tunables"))


def _by_value(axes: Axes, name: str, values: Sequence[Any], timed: Sequence[Evaluation], told: ToldRun) -> None:
    places = {repr(value): place for place, value in enumerate(values)}
    points = [(places[repr(e.configuration[name])], e.timing.median) for e in timed if e.timing is not None]
    least = {place: min(time for where, time in points if where == place) for place, _ in sorted(points)}
    axes.scatter([place for place, _ in points], [time for _, time in points], s=12, color=_OTHER, alpha=0.7)
    axes.plot(list(least), list(least.values()), color=_OTHER, linewidth=1)
    best = told.outcome.best
    if best.timing is not None:
        axes.scatter([places[repr(best.configuration[name])]], [best.timing.median], s=40, color=_BEST, zorder=3)
    axes.set_xticks(range(len(values)), [tunable_value(value) for value in values], fontsize=8)
    _label(axes, name, told.outcome.time_unit)


def roofline_of(told: ToldRun) -> Plot | None:
    """Kernel as given and best below the ceilings of what they work in, where the work and the ceilings are known."""
    work, limits = told.problem.work, roofline(told.problem, told.device)
    if work is None or limits is None or limits.memory_ms <= 0 or limits.compute_ms <= 0:
        return None
    flops, moved = (float(evaluate(part, told.problem.sizes)) for part in (work.flops, work.bytes))
    peak, bandwidth = flops / limits.compute_ms / 1e6, moved / limits.memory_ms / 1e6
    scale, unit = (1e3, "TFLOP/s") if peak >= 1e4 else (1.0, "GFLOP/s")
    intensity, ridge = flops / moved, peak / bandwidth
    figure = _figure(3.8)
    axes = figure.subplots()
    ends = [min(intensity, ridge) / 8, ridge, max(intensity, ridge) * 8]
    axes.plot(ends, [min(peak, at * bandwidth) / scale for at in ends], color="#333", linewidth=1.5)
    for words, color, evaluation in (("as given", _GIVEN, told.outcome.baseline), ("best", _BEST, told.outcome.best)):
        if evaluation.timing is not None:
            reached = flops / evaluation.timing.median / 1e6 / scale
            axes.scatter([intensity], [reached], s=45, color=color, label=f"{words}: {reached:.4g} {unit}", zorder=3)
    axes.set_xscale("log")
    _label(axes, "FLOP per byte of [work]", unit)
    axes.legend(frameon=False, fontsize=8)
    ceilings = f"{bandwidth:.0f} GB/s ({limits.memory}) and {peak / scale:.4g} {unit} ({limits.compute})"
    return Plot(f"Roofline of work in {limits.dtype}: {ceilings}. An estimate and no bound.", _svg(figure, "roof"))


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
        yield from _rewritten(told)


def _rewritten(told: ToldRun) -> Iterator[Block]:
    """The functions of a kernel in Python, where they are not those of its file."""
    best = told.best
    if best.source and best.source != told.run.problem.source_text:
        if best.launch.grid is not None:
            yield Paragraph(f"Launched with the grid ({', '.join(map(str, best.launch.grid))}).")
        yield CodeBlock("The rewritten kernel", kernel_text(best.source, best.kernel), "python")


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
    calls = calls_words(outcome)
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
