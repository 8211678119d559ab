"""Writes what runs of `python -m benchmarks.thesis` found as Markdown, each figure with the line that says it.

    python -m benchmarks.thesis.table RUNS ... > FILE

RUNS are directories of runs, as `--runs` names them, or single runs. What is not there is said to be missing.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.thesis.measured import EIGHT, ELEVEN, MORE, Interval, Measured, measured
from tui_tuner.errors import UserError
from tui_tuner.exports.blocks import Block, Heading, Paragraph, Table, as_markdown
from tui_tuner.format import duration
from tui_tuner.journal.reading import FILE

HEAD = (
    "kernel", "baseline", "best", "gain", "ceiling", "library", "evaluations (failed)", "calls",
    "tokens in, out", "took",
)  # fmt: skip
NOTHING = "-"


@dataclass(frozen=True)
class Unread:
    """A run that says nothing, and why."""

    name: str
    reason: str


async def read_all(places: Sequence[Path]) -> tuple[list[Measured], list[Unread]]:
    """Every run that is, or lies in, one of these directories."""
    found: list[Measured] = []
    unread: list[Unread] = []
    for place in places:
        for journal in [place / FILE] if (place / FILE).is_file() else sorted(place.glob(f"*/{FILE}")):
            try:
                found.append(await measured(journal.parent))
            except UserError as error:
                unread.append(Unread(journal.parent.name, error.message))
    return found, unread


def blocks(runs: Sequence[Measured], unread: Sequence[Unread]) -> Iterator[Block]:
    """The document."""
    yield Paragraph(
        "Made by python -m benchmarks.thesis.table from journals. Baseline: the kernel as given with its own block "
        "size tuned. Baseline and best, with 95 % intervals, were timed in turns on fresh data, and gain is the median "
        "of their ratio, unless a row says that they were timed apart. Ceiling: share of the roofline of the declared "
        "work, at the measured bandwidths or the peak of the data type. Library: time of the library over that of the "
        "best, each alone on the device, above 100 % the best is faster."
    )
    for device, model, strategy, own in _sections([run for run in runs if run.kernel in (*EIGHT, *ELEVEN, *MORE)]):
        yield Heading(f"{strategy}, {model or 'no model'}, {device}")
        for names, title in ((EIGHT, "of the eight"), (ELEVEN, "of the eleven others"), (MORE, "beside these")):
            chosen = [run for name in names for run in own if run.kernel == name]
            if chosen:
                yield Table(HEAD, [_row(run) for run in chosen])
            missing = [name for name in names if name not in {run.kernel for run in chosen}]
            yield Paragraph(f"No run {title}: {', '.join(missing)}." if missing else f"All {title} have runs.")
        yield Paragraph(_means(own))
        if repeated := [*_repeated(own)]:
            yield Table(("kernel", "runs", "finished", "gains", "median"), repeated)
    yield Heading("What is missing")
    for line in _missing(runs, unread):
        yield Paragraph(line)
    yield Heading("Where the figures stand")
    yield Paragraph("Lines of journal.jsonl in each run, the header being line 1.")
    yield Table(("run", "lines"), [(run.name, _places(run)) for run in runs])


def _sections(runs: Sequence[Measured]) -> Iterator[tuple[str, str, str, list[Measured]]]:
    def section(run: Measured) -> tuple[str, str, str]:
        return run.device, run.model, run.strategy

    for (device, model, strategy), own in groupby(sorted(runs, key=section), section):
        yield device, model, strategy, list(own)


def _row(run: Measured) -> tuple[str, ...]:
    about = "" if not run.fault else " (the model was of no use)"
    gain = f"{run.gain[0]:.3g}x [{run.gain[1]:.3g}, {run.gain[2]:.3g}]"
    if run.best == run.baseline:
        gain = "none: the baseline is the best"
    unfinished = "" if run.is_finished else " (not finished: timed apart)"
    limits = NOTHING if run.limits is None else f"{run.share:.1%} of {run.limits.limiter}"
    estimated = " (estimated)" if run.are_tokens_estimated else ""
    return (
        f"{run.kernel}{about}",
        _time(run.baseline, run.unit),
        _time(run.best, run.unit),
        f"{gain}{unfinished}",
        limits,
        NOTHING if run.library is None else f"{run.library_share:.1%} ({run.library.median:.4g} ms)",
        f"{run.evaluations} ({run.failures})",
        str(run.calls),
        f"{run.tokens[0]}, {run.tokens[1]}{estimated}" if run.calls else NOTHING,
        duration(run.seconds),
    )


def _time(time: Interval, unit: str) -> str:
    return f"{time[0]:.4g} {unit} [{time[1]:.4g}, {time[2]:.4g}]"


def median_gains(runs: Sequence[Measured], names: Sequence[str]) -> dict[str, float]:
    """The median gain of each of these kernels over its finished runs."""
    gains = {name: [run.gain[0] for run in runs if run.kernel == name and run.is_finished] for name in names}
    return {name: statistics.median(found) for name, found in gains.items() if found}


def _means(runs: Sequence[Measured]) -> str:
    """Of the eight, as far as they are there."""
    gains = median_gains(runs, EIGHT)
    if not gains:
        return "No mean: none of the eight has a finished run."
    geometric = math.exp(statistics.fmean(math.log(gain) for gain in gains.values()))
    per_cent = statistics.fmean(100 * (gain - 1) for gain in gains.values())
    over = "all of the eight" if len(gains) == len(EIGHT) else f"{len(gains)} of the eight ({', '.join(gains)})"
    return (
        f"Geometric mean of the gains over {over}: {geometric:.3g}x. Mean of the gains in per cent: {per_cent:.3g} %."
    )


def _repeated(runs: Sequence[Measured]) -> Iterator[tuple[str, ...]]:
    """Kernels with more than one run: how many came to their end, and how their gains spread."""
    for name in (*EIGHT, *ELEVEN, *MORE):
        own = [run for run in runs if run.kernel == name]
        if len(own) > 1:
            gains = sorted(run.gain[0] for run in own if run.is_finished)
            median = f"{statistics.median(gains):.3g}x" if gains else NOTHING
            yield name, str(len(own)), str(len(gains)), ", ".join(f"{gain:.3g}x" for gain in gains), median


def _missing(runs: Sequence[Measured], unread: Sequence[Unread]) -> Iterator[str]:
    yield from (f"{each.name} says nothing: {each.reason}." for each in unread)
    for words, lacks in (
        ("Of other kernels, and left out", [run.name for run in runs if run.kernel not in (*EIGHT, *ELEVEN, *MORE)]),
        ("Made with another problem file than today's", [run.name for run in runs if not run.is_todays]),
        ("Not finished", [run.name for run in runs if not run.is_finished]),
        ("No time of a library", [run.name for run in runs if run.library is None]),
        ("Not checked against the reference, but timed: the library of", _unchecked(runs)),
        ("No ceilings of the device", [run.name for run in runs if run.limits is None]),
        ("No reply of the model could be used", [run.name for run in runs if run.fault]),
    ):
        if lacks:
            yield f"{words}: {', '.join(lacks)}."


def _unchecked(runs: Sequence[Measured]) -> list[str]:
    return [run.name for run in runs if run.library is not None and not run.library.checked]


def _places(run: Measured) -> str:
    return "; ".join(f"{what} {', '.join(map(str, lines))}" for what, lines in run.lines.items())


def main() -> None:
    """Print the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    found, unread = asyncio.run(read_all(parser.parse_args().runs))
    sys.stdout.write(as_markdown("Results on the kernels of benchmarks/thesis", [*blocks(found, unread)]))


if __name__ == "__main__":
    main()
