"""A Tensile session in words: its story without a screen, and what came of it as text and as result.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tui_tuner.format import counted, duration, factor, factor_in_lines, in_columns
from tui_tuner.journal.reading import RESULT
from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.tensile.document import value_text
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.finals import Metrics
from tui_tuner.tensile.outcome import (
    RoundOutcome,
    Winner,
    gflops_words,
    mean_gain,
    mean_speed,
    round_words,
    size_text,
    values_words,
    work_words,
)

REPORT = "report.md"


class RoundSummary(BaseModel):
    """One run of Tensile; seconds.

    Attributes:
        gain: over the best before it, mean of all sizes; None of the first, and where it failed.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    edits: list[str]
    permutations: int
    seconds: float
    gain: float | None
    failure: str | None


class TensileOutcome(BaseModel):
    """The outcome of a session; speeds in GFLOP/s.

    Attributes:
        gain: of the best over the first run's winners, mean of all sizes: median of the last runs, lowest and highest;
            None where they were not compared again.
        edited: name of the file with the configuration in force at the end.
        winners_file: name of the file with nothing but the best of every size; None where it cannot be written.
        library_logic: files with the library logic of the best, from the run's directory; may be none.
    """

    model_config = ConfigDict(frozen=True)

    format: int = 1
    program: str
    configuration: str
    status: Literal["finished", "no_improvement", "failed"]
    reason: str
    model: str | None
    tensile: str
    device: str
    winners: list[Winner]
    rounds: list[RoundSummary]
    gain: tuple[float, float, float] | None
    metrics: Metrics
    permutations: int
    model_calls: int
    cost: float | None
    elapsed_s: float
    edited: str
    winners_file: str | None
    library_logic: list[str] = []

    def write(self, directory: Path) -> Path:
        """Write result.json."""
        path = directory / RESULT
        path.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        return path


def write_report(directory: Path, outcome: TensileOutcome) -> Path:
    """Write report.md."""
    path = directory / REPORT
    path.write_text("\n".join(_lines(outcome)) + "\n", encoding="utf-8")
    return path


def _lines(outcome: TensileOutcome) -> Iterator[str]:
    yield f"# {outcome.configuration}"
    yield ""
    yield f"{outcome.status.replace('_', ' ')}: {outcome.reason}."
    yield f"Measured with Tensile {outcome.tensile or '(version unknown)'} on {outcome.device or 'an unknown GPU'}; "
    yield f"model: {outcome.model or 'none'}."
    yield ""
    yield from _metrics(outcome.metrics, outcome.gain)
    yield ""
    yield "## The best at every problem size"
    yield ""
    yield "| group | size | GFLOP/s | over the first winner | us | round | solution |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_winner(winner) for winner in outcome.winners)
    yield ""
    if outcome.library_logic:
        yield "## Library logic"
        yield ""
        yield from (f"- {name}" for name in outcome.library_logic)
        yield ""
        yield "Explained by `tuner-tui tensile logic RUN`, merged into a library's file with `--into FILE`."
        yield ""
    yield "## Rounds"
    yield ""
    yield "| round | permutations | s | gain | edits |"
    yield "|---|---|---|---|---|"
    yield from (_round(one) for one in outcome.rounds)


def _metrics(metrics: Metrics, gain: tuple[float, float, float] | None) -> Iterator[str]:
    yield "| metric | value |"
    yield "|---|---|"
    if gain is not None:
        yield f"| gain, best over first winners, compared again | {gain[0]:.3f} (runs {gain[1]:.3f} to {gain[2]:.3f}) |"
    if metrics.retention_mean is not None:
        low, high = min(metrics.retention.values()), max(metrics.retention.values())
        yield f"| performance retention PR, mean of sizes | {metrics.retention_mean:.3f} ({low:.3f} to {high:.3f}) |"
    if metrics.consistency is not None:
        yield f"| winner consistency WC | {metrics.consistency:.0%} |"
    for name, seconds in (
        ("T0, the configuration as given", metrics.given_seconds),
        ("T1, the last edited configuration", metrics.edited_seconds),
        ("T1, all edited configurations of the session", metrics.session_seconds),
        ("L, the model's replies", metrics.model_seconds),
    ):
        yield f"| {name} | {'not measured' if seconds is None else f'{seconds:.1f} s'} |"
    for name, share in (
        ("tuning-time reduction TR, last configuration", metrics.reduction),
        ("tuning-time reduction TR, whole session", metrics.reduction_of_session),
    ):
        yield f"| {name} | {'needs T0' if share is None else f'{share:.1%}'} |"


def _winner(winner: Winner) -> str:
    values = ", ".join(f"{name} {value_text(value)}" for name, value in winner.values.items())
    gain = "" if winner.gain is None else f"{winner.gain:.3f}"
    time = "" if winner.microseconds is None else f"{winner.microseconds:.2f}"
    cells = (str(winner.group), size_text(winner.size), f"{winner.gflops:.1f}", gain, time, str(winner.round), values)
    return f"| {' | '.join(cells)} |"


def _round(one: RoundSummary) -> str:
    gain = one.failure or ("" if one.gain is None else f"{one.gain - 1:+.1%}")
    edits = "; ".join(one.edits) or ("by hand" if one.number else "as given")
    return f"| {one.number} | {one.permutations:,} | {one.seconds:.1f} | {gain} | {edits} |"


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
                return event.words
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
    return list(in_columns(rows))
