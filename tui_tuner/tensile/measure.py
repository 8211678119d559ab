"""One benchmark: Tensile runs on a configuration, its tables are read and summarised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import UserError
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.outcome import FailureKind, GroupOutcome, RoundOutcome, RunFailure, SizeOutcome
from tui_tuner.tensile.results.find import read_results
from tui_tuner.tensile.running.ended import Ended
from tui_tuner.tensile.running.explain import explain
from tui_tuner.tensile.running.find import Tensile
from tui_tuner.tensile.running.run import WALL_CLOCK, RunClock, run_tensile
from tui_tuner.tensile.summary import summarise
from tui_tuner.text import redact

OUTPUT = "tensile"
"""Tensile's own directory in that of a run; its log lies beside it."""
_REASONS = 20
"""Reasons of rejections that are kept of a group."""


@dataclass(frozen=True)
class Bench:
    """What every benchmark of a session has in common.

    Attributes:
        sizes: text of the file of sizes that goes with the alternate format; None without one.
        limit_s: seconds that one run may take, None for no limit.
        clock: times the runs.
    """

    tensile: Tensile
    sizes: str | None = None
    limit_s: float | None = None
    clock: RunClock = WALL_CLOCK


async def measure(
    bench: Bench, configuration: Configuration, directory: Path, on_line: Callable[[str], None]
) -> RoundOutcome:
    """Let Tensile measure a configuration; whatever goes wrong is in the outcome.

    Args:
        directory: new, for the configuration, the log and Tensile's output.
    """
    directory.mkdir(parents=True)
    file = directory / configuration.file.name
    file.write_bytes(configuration.text.encode("utf-8"))
    sizes = None
    if configuration.alternate:
        sizes = directory / "sizes.yaml"
        sizes.write_text(bench.sizes or "[]\n", encoding="utf-8")
    output = directory / OUTPUT
    ended = await run_tensile(
        bench.tensile, file, output, sizes=sizes, limit_s=bench.limit_s, on_line=on_line, clock=bench.clock
    )
    return await asyncio.to_thread(outcome_of, configuration, ended, output)


def outcome_of(configuration: Configuration, ended: Ended, output: Path) -> RoundOutcome:
    """What a run that is over said."""
    base = RoundOutcome(
        seconds=round(ended.seconds, 3),
        groups=_groups(configuration, ended),
        phases={phase: round(seconds, 3) for phase, seconds in ended.said.phases.items()},
        device=ended.said.device,
    )
    failure = explain(ended)
    if failure is not None:
        failure = failure.model_copy(update={"detail": redact(failure.detail, {output.parent.absolute(): "."})})
        return base.model_copy(update={"failure": failure})
    try:
        summary = summarise(configuration, read_results(output), [group.name for group in ended.said.groups])
    except UserError as error:
        where = "" if error.file is None else f"{Path(error.file).name}: "
        line = "" if error.line is None else f"line {error.line}: "
        malformed = RunFailure(kind=FailureKind.MALFORMED, message=f"{where}{line}{error.message}")
        return base.model_copy(update={"failure": malformed})
    if not any(size.ranked for size in summary.sizes):
        failed = sum(size.failed for size in summary.sizes)
        nothing = RunFailure(kind=FailureKind.NOTHING_VALID, message=_nothing(failed))
        return base.model_copy(update={"failure": nothing, "notes": summary.notes})
    return base.model_copy(
        update={"sizes": summary.sizes, "effects": summary.effects, "notes": [*summary.notes, *_short(summary.sizes)]}
    )


def _nothing(failed: int) -> str:
    return f"no solution has a time: {failed} failed validation" if failed else "no solution has a time"


def _short(sizes: Sequence[SizeOutcome]) -> list[str]:
    without = [size for size in sizes if not size.ranked]
    if not without:
        return []
    which = "a problem size has" if len(without) == 1 else f"{len(without)} problem sizes have"
    return [f"{which} no valid solution"]


def _groups(configuration: Configuration, ended: Ended) -> list[GroupOutcome]:
    """Each size group with what Tensile printed of it; groups run in the file's order."""
    told = ended.said.groups
    return [
        GroupOutcome(
            group=group.number,
            permutations=group.permutations,
            solutions=None if log is None else log.built if log.built is not None else log.valid,
            rejected={} if log is None else dict(sorted(log.rejected.items(), key=lambda pair: -pair[1])[:_REASONS]),
        )
        for group in configuration.size_groups
        for log in [told[group.number] if group.number < len(told) else None]
    ]
