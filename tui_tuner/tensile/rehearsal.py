"""Edits counted before anything is built: Tensile itself is begun on them, and ended once it has told its solutions.

By then it has derived every permutation and said which are valid, which it rejects and why, and which are duplicates;
it has not written a kernel. So this needs no knowledge of any version's inside, and no GPU where Tensile itself needs
none so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.yaml_text import loaded
from tui_tuner.tensile.measure import OUTPUT, TensileBench, group_outcome, run_tensile
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome, RunFailure, RunFailureKind
from tui_tuner.tensile.run_end import run_failure

LIMIT_S = 120.0
"""Time limit of one rehearsal; a size group takes Tensile's own start and some milliseconds a permutation."""
_REASONS = 4
_POOR = 0.5
"""Share of valid permutations below which the model is asked to think again."""


async def rehearse(bench: TensileBench, configuration: BenchmarkConfiguration) -> RoundOutcome:
    """What Tensile makes of a configuration's permutations.

    Returns:
        Its groups without sizes; the failure where it gave none, REFUSED or NOTHING_VALID where that is its verdict.
    """
    limit_s = LIMIT_S if bench.limit_s is None else min(LIMIT_S, bench.limit_s)
    seconds, groups, failure = 0.0, [], None
    for number, document in enumerate(_documents(configuration)):
        with TemporaryDirectory(prefix="tuner-tensile-", ignore_cleanup_errors=True) as name:
            file, sizes = Path(name) / "rehearsal.yaml", Path(name) / "sizes.yaml"
            file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
            if configuration.alternate:
                sizes.write_text(bench.sizes or "[]\n", encoding="utf-8")
            ended = await run_tensile(
                bench.tensile,
                file,
                Path(name) / OUTPUT,
                sizes=sizes if configuration.alternate else None,
                limit_s=limit_s,
                on_line=_unheard,
                clock=bench.clock,
                until_counted=True,
            )
        seconds += ended.seconds
        log = next(iter(ended.said.groups), None)
        counted = log is not None and log.valid is not None
        groups.append(group_outcome(configuration.size_groups[number], log if counted else None, tells=True))
        if not counted:
            failure = run_failure(ended) or RunFailure(kind=RunFailureKind.CRASH, message="Tensile told no solutions")
        elif not groups[-1].solutions:
            failure = RunFailure(kind=RunFailureKind.NOTHING_VALID, message=_counts(groups[-1], named=False))
        if failure is not None:
            break
    return RoundOutcome(seconds=round(seconds, 3), groups=groups, failure=failure)


def _unheard(line: str) -> None:
    """Nobody watches a rehearsal."""


def _documents(configuration: BenchmarkConfiguration) -> Iterator[dict[str, Any]]:
    """The configuration once for each size group, with nothing but that one; reasons are told."""
    whole = loaded(configuration.text)
    settings = {**(whole.get("GlobalParameters") or {}), "PrintSolutionRejectionReason": True}
    if configuration.alternate:
        yield {**whole, "GlobalParameters": settings}
        return
    for problem, *groups in whole["BenchmarkProblems"]:
        for group in groups or [{}]:
            yield {"GlobalParameters": settings, "BenchmarkProblems": [[problem, group]]}


def is_poor(outcome: RoundOutcome, before: RoundOutcome | None) -> bool:
    """Whether so few of the permutations that edits add make a kernel that others would be worth more.

    Args:
        before: of the configuration that is edited; None where it was not measured.
    """
    added, valid = outcome.permutations, _valid(outcome)
    if before is not None and all(group.solutions is not None for group in before.groups):
        added, valid = added - before.permutations, valid - _valid(before)
    return outcome.failure is None and added > 0 and valid < _POOR * added


def is_refusal(outcome: RoundOutcome) -> bool:
    """Whether there is nothing to measure."""
    refused = (RunFailureKind.REFUSED, RunFailureKind.NOTHING_VALID)
    return outcome.failure is not None and outcome.failure.kind in refused


def counts(outcome: RoundOutcome) -> str:
    """How many permutations are valid, rejected and duplicate, in a line."""
    return "; ".join(_counts(group, named=len(outcome.groups) > 1) for group in outcome.groups)


def _counts(group: GroupOutcome, *, named: bool) -> str:
    where = f"size group {group.group}: " if named else ""
    told = f"{where}of {group.permutations:,} permutations {group.solutions or 0:,} make a kernel"
    rejected, duplicates = group.rejected_count, group.duplicates
    if rejected:
        reasons = sorted(group.rejected.items(), key=lambda pair: -pair[1])[:_REASONS]
        told += f", {rejected:,} are rejected ({'; '.join(f'{count} times: {why}' for why, count in reasons)})"
    return told + (f", {duplicates:,} are duplicates of others" if duplicates else "")


def by_edit(words: Sequence[str], outcomes: Sequence[RoundOutcome]) -> list[str]:
    """What each edit added: permutations, and how many of them make a kernel.

    Args:
        words: of each edit.
        outcomes: without any edit, after the first, and so on; they end where one failed.
    """
    lines = []
    for edit, before, after in zip(words, outcomes, outcomes[1:], strict=False):
        if before.failure is not None or after.failure is not None:
            break
        more = after.permutations - before.permutations
        valid = _valid(after) - _valid(before)
        lines.append(f"{edit}: {more:+,} permutations, {valid:+,} that make a kernel")
    return lines


def _valid(outcome: RoundOutcome) -> int:
    return sum(group.solutions or 0 for group in outcome.groups)
