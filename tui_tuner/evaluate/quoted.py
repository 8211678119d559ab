"""The lines of a kernel that a failure names by their numbers, and what such lines are often mistaken about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_tuner.evaluate.results import Failure, FailureKind, FailureStage
from tui_tuner.problem.syntax import code_only
from tui_tuner.text import clean

_NAMED = re.compile(r"\blines? (\d+)(?: and (\d+))?")
_MOST_LINES, _MOST_CHARACTERS = 4, 120
_SHUFFLE = re.compile(r"\b__(?:shfl|ballot|any|all|match|reduce)\w*_sync\b|\.(?:shfl|ballot|any|all)(?:_\w+)?\s*\(")
_NO_BARRIER = (
    "A shuffle or a vote is no memory barrier among lanes: only __syncwarp and __syncthreads order what they write."
)
_ARRIVES = re.compile(r"\b(?:mbarrier|barrier|bar)(?:\.cta)?\.arrive\b|\barrive(?:_and_wait)?\s*\(")
_ONE_ARRIVES = (
    "Of a barrier on which one lane arrives for its warp, the tool follows that lane alone, also behind a __syncwarp, "
    "and bar.arrive it does not follow: let each thread arrive on an mbarrier that stored, or that loaded what will be "
    "overwritten."
)
"""Measured: racecheck 2025.3 reports each of these, though PTX orders them."""
_ALIGNED = re.compile(r"\bbar(?:\.cta)?\.sync\b|\bbarrier(?:\.cta)?\.sync\.aligned\b")
_NOT_ALIGNED = (
    "Where warps meet at a barrier from different branches, write `barrier.sync` with its number and its threads, as "
    "in `barrier.sync 1, 384;`: of `bar.sync`, the aligned one, the tool expects all threads at the same place."
)
"""Measured: synccheck 2025.3 reports `bar.sync` there, with threads named and without, and no `barrier.sync`."""


def quoted(failure: Failure, source: str) -> Failure:
    """The failure of a run with the text of the lines that it names.

    Args:
        source: of the kernel.
    """
    if failure.kind.stage is not FailureStage.RUN:  # a compiler shows the lines itself
        return failure
    said = "\n".join(filter(None, [failure.detail, *_lines(failure, source), *_notes(failure, source)]))
    return failure if said == failure.detail else failure.model_copy(update={"detail": said})


def _lines(failure: Failure, source: str) -> Iterator[str]:
    named = _NAMED.findall(f"{failure.message}\n{failure.detail}")
    numbers = dict.fromkeys(int(number) for pair in named for number in pair if number)
    lines = source.split("\n")
    for number in [one for one in numbers if 0 < one <= len(lines)][:_MOST_LINES]:
        text = clean(lines[number - 1]).strip()
        if text:
            yield f"line {number}: {text if len(text) <= _MOST_CHARACTERS else f'{text[:_MOST_CHARACTERS]}...'}"


def _notes(failure: Failure, source: str) -> Iterator[str]:
    if failure.kind is FailureKind.RACE and _SHUFFLE.search(code_only(source)):
        yield _NO_BARRIER
    yield from not_followed(failure, source)


def not_followed(failure: Failure, source: str) -> Iterator[str]:
    """What of this source the tool that accuses it does not follow, so that it may be right all the same."""
    if failure.kind is not FailureKind.RACE:
        return
    if failure.message.startswith("racecheck") and _ARRIVES.search(source):  # also in the assembler's text
        yield _ONE_ARRIVES
    if "Divergent thread(s) in block" in failure.message and _ALIGNED.search(source):
        yield _NOT_ALIGNED
