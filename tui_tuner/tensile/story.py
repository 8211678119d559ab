"""A Tensile session without a screen: its events in words, and the result with a line a problem size."""

from __future__ import annotations

from tui_tuner.format import counted, duration, factor, factor_in_lines
from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.outcome import (
    RoundOutcome,
    Winner,
    gflops_words,
    mean_gain,
    mean_speed,
    outcome_words,
    round_words,
    size_text,
    values_words,
    work_words,
)

_QUIET_S = 10.0
"""Seconds between two lines of Tensile's own that are passed on."""

SIZES_TOLD = 20
"""Problem sizes in the result."""


class TensileStory:
    """The part of a story that only a Tensile session has; remembers what its result needs."""

    sandbox_label = ""

    def __init__(self) -> None:
        self._ended: list[RoundOutcome] = []
        self._winners: list[Winner] = []
        self._said_at: float | None = None

    def line(self, event: Event) -> str | None:
        """One line for an event of a run; of Tensile's own output now and then one."""
        match event:
            case BenchmarkStarted():
                self._said_at = None
                return f"{round_words(event.round)}: Tensile measures {work_words(event.permutations, event.sizes)}"
            case BenchmarkOutput():
                return self._printed(event)
            case BenchmarkFinished():
                self._ended.append(event.outcome)
                return f"{round_words(event.round)}: {outcome_words(event.outcome)}"
            case WinnersChanged():
                self._winners = event.winners
                return self._best(event)
        return None

    def _printed(self, event: BenchmarkOutput) -> str | None:
        """A line that says something, when none was passed on lately."""
        told = any(character.isalpha() for character in event.text)
        if not told or (self._said_at is not None and event.elapsed < self._said_at + _QUIET_S):
            return None
        self._said_at = event.elapsed
        return f"{round_words(event.round)}: Tensile: {event.text}"

    def _best(self, event: WinnersChanged) -> str | None:
        mean = mean_speed(event.winners)
        if mean is None:
            return None
        count = len(event.winners)
        what = f"mean of the best at {count} sizes" if count > 1 else "best"
        new = sum(winner.round == event.round for winner in event.winners)
        gain = self._gain()
        more = (
            f", {factor(gain)} over the first run, {new} of {count} better" if event.round and gain is not None else ""
        )
        return f"{round_words(event.round)}: {what} {gflops_words(mean)} GFLOP/s{more}"

    def _gain(self) -> float | None:
        return mean_gain(self._winners)

    def result(self, event: SessionFinished) -> list[str]:
        """The best at every problem size, then the gain over all; as lines."""
        lines = _table(self._winners[:SIZES_TOLD])
        more = len(self._winners) - SIZES_TOLD
        if more > 0:
            lines.append(f"and {more} more problem sizes")
        mean = self._gain()
        gain = "" if mean is None else factor(mean)
        if event.speedup is not None:
            gain = factor_in_lines(event.speedup)
        if gain:
            over = f", geometric mean of {len(self._winners)} sizes" if len(self._winners) > 1 else ""
            lines.append(f"gain      {gain} in GFLOP/s over the configuration as given{over}")
        return lines

    def effort(self, event: SessionFinished) -> str:
        """What was measured, in how many runs and how much time."""
        runs, took = len(self._ended), duration(sum(outcome.seconds for outcome in self._ended))
        return f"{counted(event.evaluations, 'permutation')} in {counted(runs, 'run')}, {took}"


def _table(winners: list[Winner]) -> list[str]:
    """A line a problem size: group where there are several, size, speed, gain, round, values."""
    grouped = len({winner.group for winner in winners}) > 1
    rows = [
        (
            *([f"group {winner.group}"] if grouped else []),
            size_text(winner.size),
            f"{gflops_words(winner.gflops)} GFLOP/s",
            "" if winner.gain is None else factor(winner.gain),
            f"round {winner.round}",
            values_words(winner.values) or winner.solution,
        )
        for winner in winners
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
