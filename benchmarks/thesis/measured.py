"""What a run of `python -m benchmarks.thesis` found, each figure with the line of its journal that says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.profiling.roofline import Roofline, roofline
from tui_tuner.evaluate.results import Comparison, Evaluation, Timing
from tui_tuner.exports import ToldRun, told_run
from tui_tuner.journal.reading import FILE, JournalContent, Record, read_journal
from tui_tuner.session import events

KERNELS = Path(__file__).parent / "kernels"
EIGHT = (
    "matrix_add", "matrix_multiply", "matrix_transpose", "sigmoid", "assign_clusters", "mandelbrot", "game_of_life",
    "verlet_integration",
)  # fmt: skip
"""What LLM Kernel Tuner was evaluated on; its paper reports the mean of the gains in per cent."""
ELEVEN = (
    "layer_norm", "rms_norm_residual", "inclusive_scan", "histogram", "stencil_3d", "sparse_product", "attention",
    "top_k", "int8_gemm", "half_gemm", "depthwise_convolution",
)  # fmt: skip
MORE = ("matrix_multiply_odd", "half_gemm_odd", "half_gemm_gelu")
"""Shapes that nothing divides, and what a library has no single kernel for; tuned where they are named."""
Interval = tuple[float, float, float]
"""A median with the ends of its 95 % interval."""


@dataclass(frozen=True)
class Measured:
    """A run's figures; times in ms.

    Attributes:
        name: of the run's directory.
        is_todays: whether the problem file is as it is now.
        is_finished: whether the session came to its end; else the figures are those so far, timed apart.
        fault: why no reply of the model could be used; empty where one could, or none was asked for.
        baseline: the kernel as given with its own block size tuned.
        alone: the best without another kernel beside it, as a library is timed.
        gain: how much faster the best is than the baseline, timed in turns with it.
        limits: the roofline of the timed launch; None without measured ceilings.
        library: None where it was not timed.
        tokens: of prompts and of replies.
        lines: of the journal, by what they say.
    """

    name: str
    kernel: str
    strategy: str
    model: str
    device: str
    is_todays: bool
    is_finished: bool
    fault: str
    baseline: Interval
    best: Interval
    alone: Interval
    gain: Interval
    limits: Roofline | None
    library: LibraryTime | None
    evaluations: int
    failures: int
    calls: int
    tokens: tuple[int, int]
    are_tokens_estimated: bool
    seconds: float
    unit: str
    lines: dict[str, list[int]] = field(hash=False)

    @property
    def share(self) -> float | None:
        """How much of the roofline the best reaches."""
        return None if self.limits is None else self.limits.share(self.best[0])

    @property
    def library_share(self) -> float | None:
        """The library's time over the best's, both alone: above 1 the best is faster."""
        return None if self.library is None else self.library.median / self.alone[0]


async def measured(run: Path) -> Measured:
    """Read a run.

    Raises:
        UserError: it cannot be read, or found nothing yet.
    """
    told, content = await told_run(run), read_journal(run / FILE)
    outcome, header = told.outcome, content.header
    kernel = Path(str(header.get("problem_file", ""))).stem  # one kernel may have several problem files
    baseline, best, gain, lines = _figures(told, content)
    asked = [record for record in content.records if record.kind == "ask" and record.is_done]
    usages = [record.result["usage"] for record in asked]
    lines |= {"device, ceilings, library": _lines(r for r in content.records if r.kind == "device")}
    lines |= {"replies": _lines(asked)} if asked else {}
    return Measured(
        name=run.name,
        kernel=kernel,
        strategy=told.run.options.strategy,
        model=str(header.get("model") or ""),
        device=outcome.device.name,
        is_todays=_is_todays(kernel, str(header.get("problem"))),
        is_finished=outcome.status != "interrupted",
        fault=outcome.model_fault,
        baseline=baseline,
        best=best,
        alone=best if outcome.best.timing is None else _interval(outcome.best.timing),
        gain=gain,
        limits=roofline(told.problem, outcome.device),
        library=outcome.library,
        evaluations=outcome.evaluations,
        failures=sum(outcome.failures.values()),
        calls=outcome.model_calls,
        tokens=(sum(usage["input"] for usage in usages), sum(usage["output"] for usage in usages)),
        are_tokens_estimated=any(usage["estimated"] for usage in usages),
        seconds=outcome.elapsed_s,
        unit=outcome.time_unit,
        lines=lines,
    )


def _is_todays(kernel: str, text: str) -> bool:
    file = KERNELS / f"{kernel}.toml"
    return file.is_file() and file.read_text("utf-8") == text


def _figures(told: ToldRun, content: JournalContent) -> tuple[Interval, Interval, Interval, dict[str, list[int]]]:
    """Times of baseline and best and their ratio, from one comparison in turns where there was one."""
    outcome = told.outcome
    baseline, best = outcome.baseline_tuned or outcome.baseline, outcome.best
    first, last = (_interval(each.timing) for each in (baseline, best) if each.timing is not None)
    lines = {"baseline": _lines_of(baseline, content), "best": _lines_of(best, content)}
    if (best.candidate, best.configuration) == (baseline.candidate, baseline.configuration):
        return first, last, (1.0, 1.0, 1.0), lines
    compared = [event.comparison for event in told.told if isinstance(event, events.Compared)]
    if outcome.status == "interrupted" or not compared:
        return first, last, (first[0] / last[0],) * 3, lines
    final = compared[-1]  # a session ends with that of its best and its tuned baseline
    gain = final.ratio, final.low, final.high
    if final.incumbent is None or final.challenger is None:  # as journals have it that began before these were told
        return first, last, gain, {**lines, "gain": _lines_saying(final, content)}
    lines = {"baseline, best, gain": _lines_saying(final, content)}
    return _interval(final.incumbent), _interval(final.challenger), gain, lines


def _lines_saying(comparison: Comparison, content: JournalContent) -> list[int]:
    """Where a journal has a comparison."""
    known = [record for record in content.records if record.kind == "compare" and record.is_done]
    return _lines(record for record in known if Comparison.model_validate(record.result) == comparison)


def _lines_of(evaluation: Evaluation, content: JournalContent) -> list[int]:
    """Where a journal has an evaluation; the kernel as given stands with the device."""
    places = []
    for record in content.records:
        result = record.result.get("given") if record.kind == "device" else record.result
        if record.kind in ("device", "evaluate") and result and "candidate" in result:
            found = Evaluation.model_validate(result)
            if (found.candidate, found.configuration) == (evaluation.candidate, evaluation.configuration):
                places.append(record.line)
    return places


def _interval(timing: Timing) -> Interval:
    return timing.median, timing.low, timing.high


def _lines(records: Iterable[Record]) -> list[int]:
    return [record.line for record in records]
