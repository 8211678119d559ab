"""result.json: what a session found, for programs and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.problem.candidate import Candidate

FILE = "result.json"


class SessionOutcome(BaseModel):
    """The outcome of a session; times in ms, speed-ups as median and 95 % interval.

    Attributes:
        speedup: how much faster the best is than the kernel as given, timed interleaved.
        speedup_over_tuned: how much faster it is than the kernel as given with its own parameters tuned.
        comparison: the paired measurement behind `speedup`.
        failures: how many evaluations failed, by kind.
        time_unit: "ms", or "CPU ms" where no GPU was timed.
    """

    model_config = ConfigDict(frozen=True)

    format: int = 1
    program: str
    kernel: str
    status: Literal["finished", "no_improvement"]
    reason: str
    strategy: str
    model: str | None
    seed: int
    device: DeviceInfo
    sandbox: str
    time_unit: str
    baseline: Evaluation
    baseline_tuned: Evaluation | None
    best: Evaluation
    best_title: str
    speedup: tuple[float, float, float]
    speedup_over_tuned: tuple[float, float, float] | None
    comparison: Comparison | None
    evaluations: int
    builds: int
    failures: dict[str, int]
    model_calls: int
    cost: float | None
    elapsed_s: float

    @property
    def paired_times(self) -> tuple[float, float] | None:
        """Times of the kernel as given and of the best, interleaved, ms."""
        comparison = self.comparison
        if comparison is None or comparison.incumbent is None or comparison.challenger is None:
            return None
        return comparison.incumbent.median, comparison.challenger.median

    def write(self, directory: Path) -> Path:
        """Write result.json."""
        path = directory / FILE
        path.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        return path


def count_failures(evaluations: Iterable[Evaluation]) -> dict[str, int]:
    """How many evaluations failed, by kind."""
    return dict(Counter(str(e.failure.kind) for e in evaluations if e.failure is not None))


def title_of(candidate: Candidate) -> str:
    """A few words for a candidate."""
    return candidate.title or candidate.id
