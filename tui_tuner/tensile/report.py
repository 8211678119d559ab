"""What came of a session: result.json, and the same as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tui_tuner.report import FILE
from tui_tuner.tensile.document.configuration import value_text
from tui_tuner.tensile.finals import Metrics
from tui_tuner.tensile.outcome import Winner, size_text

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

    def write(self, directory: Path) -> Path:
        """Write result.json."""
        path = directory / FILE
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
