"""What Tensile's runs said, in the words that the screen and the lines of a session without one share."""

from __future__ import annotations

from tui_tuner.tensile.outcome import FINALS, RoundOutcome, Values
from tui_tuner.tensile.values import value_text

_FEW = 1000
"""Speeds below it, in GFLOP/s, are written with decimals."""


def round_words(number: int) -> str:
    """What a run is called: round 2, or final run 1 where the finalists are measured again."""
    return f"round {number}" if number < FINALS else f"final run {number - FINALS + 1}"


def gflops_words(gflops: float) -> str:
    """A speed in GFLOP/s with four digits or more, as in 9,310 and 81.27."""
    if gflops >= _FEW:
        return f"{gflops:,.0f}"
    return f"{gflops:.1f}" if gflops >= _FEW / 10 else f"{gflops:.2f}"


def seconds_words(seconds: float) -> str:
    """A time as people say it: 0.4 s, 84 s, 12 min, 3 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def values_words(values: Values) -> str:
    """Forked parameters with their values, on one line, lists without blanks; empty where nothing is forked."""
    return " ".join(f"{name} {value_text(value).replace(', ', ',')}" for name, value in values.items())


def work_words(permutations: int, sizes: int) -> str:
    """What a run has to measure."""
    return f"{_counted(permutations, 'permutation')} x {_counted(sizes, 'size')}"


def outcome_words(outcome: RoundOutcome) -> str:
    """How a run ended and how long it took, on one line."""
    took = seconds_words(outcome.seconds)
    if outcome.failure is not None:
        return f"{outcome.failure.kind} after {took}: {outcome.failure.message}"
    failed = sum(size.failed for size in outcome.sizes)
    rejected = sum(sum(group.rejected.values()) for group in outcome.groups)
    more = [
        *([f"{rejected:,} rejected"] if rejected else []),
        *([f"{failed:,} failed validation"] if failed else []),
    ]
    work = work_words(outcome.permutations, len(outcome.sizes))
    return f"{work} measured in {took}{''.join(f', {words}' for words in more)}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
