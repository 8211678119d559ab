"""One run of Tensile as an outcome: run, read, summarised; or the failure, explained."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import UserError
from tui_tuner.tensile.document.configuration import BenchmarkConfiguration
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome, RunFailure, RunFailureKind, SizeOutcome
from tui_tuner.tensile.results import read_results
from tui_tuner.tensile.running.log import RunEnd
from tui_tuner.tensile.running.program import Tensile
from tui_tuner.tensile.running.run import WALL_CLOCK, RunClock, run_tensile
from tui_tuner.tensile.summary import summarise
from tui_tuner.text import redact

_NO_PROGRAM = re.compile(r"`([^`]+)` either not found or not executable|Failed to locate (\S+)")
_NO_GPU = re.compile(
    r"Failed to detect curr\w+ ISA|Did not detect SupportedISA|no ROCm-capable device is detected"
    r"|hipErrorNoDevice|No HIP GPUs are available"
)
_NO_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): (.+)")
OUTPUT = "tensile"
"""Tensile's own directory in that of a run; its log lies beside it."""
_REASONS = 20
"""Reasons of rejections that are kept of a group."""


def explain(ended: RunEnd) -> RunFailure | None:
    """Why a run gave no complete results; None where it gave them.

    Failed validations are no failure of the run: Tensile ends with status 1 then, its results complete.
    """
    kind, message = _reason(ended)
    return None if kind is None else RunFailure(kind=kind, message=message, detail=ended.said.tail)


def _reason(ended: RunEnd) -> tuple[RunFailureKind | None, str]:
    if ended.not_started:
        return RunFailureKind.REFUSED, f"Tensile cannot be started: {ended.not_started}"
    if ended.timed_out:
        return RunFailureKind.TIMEOUT, f"Tensile was ended after {ended.seconds:.0f} s, {_where(ended)}"
    if ended.signal is not None:
        return RunFailureKind.CRASH, f"Tensile was ended by {ended.signal}, {_where(ended)}"
    if ended.said.client_signal is not None:
        return RunFailureKind.CRASH, f"the benchmark client was ended by {ended.said.client_signal}"
    if ended.has_results:
        return None, ""
    return _words(ended)


def _words(ended: RunEnd) -> tuple[RunFailureKind, str]:
    """Of a run that ended by itself with an error."""
    said = ended.said
    last_words = f"{said.fatal}\n{said.exception}"
    if "resulted in 0 valid solutions" in said.fatal or "0 valid soultion" in said.fatal:
        return RunFailureKind.NOTHING_VALID, f"Tensile rejected every permutation{_commonest(ended)}"
    if match := _NO_PROGRAM.search(last_words):
        return (
            RunFailureKind.REFUSED,
            f"Tensile does not find {match[1] or match[2]}; is ROCm installed, ROCM_PATH set?",
        )
    if match := _NO_MODULE.search(said.exception):
        return RunFailureKind.REFUSED, f"Tensile's Python lacks something: {match[1]}"
    if _NO_GPU.search(last_words) or (not said.fatal and _NO_GPU.search(said.tail)):
        return RunFailureKind.REFUSED, "Tensile finds no AMD GPU that it supports"
    if said.fatal:
        return RunFailureKind.REFUSED, said.fatal.splitlines()[0]
    if said.exception:
        return RunFailureKind.CRASH, f"Tensile ended by a Python exception: {said.exception}"
    if said.client_code is not None:
        return RunFailureKind.CRASH, f"the benchmark client ended with status {said.client_code}"
    return RunFailureKind.CRASH, f"Tensile ended with status {ended.returncode}, {_where(ended)}"


def _where(ended: RunEnd) -> str:
    doing = {
        "preparing": "before it made solutions",
        "solutions": "while it made solutions",
        "kernels": "while it wrote and assembled kernels",
        "client": "while the kernels ran",
        "library": "after the kernels had run",
    }
    return doing[ended.said.phase]


def _commonest(ended: RunEnd) -> str:
    reasons = [(count, reason) for group in ended.said.groups for reason, count in group.rejected.items()]
    if not reasons:
        return ""
    count, reason = max(reasons)
    return f"; the commonest reason, {count} times: {reason}"


@dataclass(frozen=True)
class TensileBench:
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
    bench: TensileBench, configuration: BenchmarkConfiguration, directory: Path, on_line: Callable[[str], None]
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


def outcome_of(configuration: BenchmarkConfiguration, ended: RunEnd, output: Path) -> RoundOutcome:
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
        malformed = RunFailure(kind=RunFailureKind.MALFORMED, message=f"{where}{line}{error.message}")
        return base.model_copy(update={"failure": malformed})
    if not any(size.ranked for size in summary.sizes):
        failed = sum(size.failed for size in summary.sizes)
        nothing = RunFailure(kind=RunFailureKind.NOTHING_VALID, message=_nothing(failed))
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


def _groups(configuration: BenchmarkConfiguration, ended: RunEnd) -> list[GroupOutcome]:
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
