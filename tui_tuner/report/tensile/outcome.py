"""result.json of a Tensile session."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tui_tuner.report.result import FILE
from tui_tuner.strategies.tensile.metrics import Metrics
from tui_tuner.tensile.outcome import Winner


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
