"""Pictures of a run, as SVG: the best so far, time by the value of each tunable, the roofline.

Roofline: S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009; its ceilings are those that were measured.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tui_tuner.evaluate.profiling.roofline import roofline
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.exports import ToldRun
from tui_tuner.exports.blocks import Plot
from tui_tuner.format import tunable_value
from tui_tuner.problem.expressions import evaluate

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
    times = [None if e.timing is None else e.timing.median for _, e in told.evaluations]
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
