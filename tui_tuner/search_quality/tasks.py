"""What a benchmark of searches is made of: runs of a strategy on a data set with a seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tui_tuner.search_quality.data_sets import DataSet


@dataclass(frozen=True)
class Task:
    """What to run.

    Attributes:
        strategy: a search method, `random`, or one of those of a model.
        llm: as with `--llm`; None for the methods that need none.
        runs: where the sessions of a model are kept; None for nowhere.
    """

    data: DataSet
    strategy: str
    seed: int
    evaluations: int
    llm: str | None = None
    runs: Path | None = None

    @property
    def label(self) -> str:
        """A few words for people, and a name for a directory."""
        return f"{self.data.name}-{self.strategy}-{self.seed}"


@dataclass(frozen=True)
class Run:
    """What came of a task.

    Attributes:
        found: the time that each evaluation gave, ms; None for failures.
        failure: why it came to no end; empty if it did.
        seconds: that it took.
    """

    task: Task
    found: tuple[float | None, ...] = ()
    failure: str = ""
    seconds: float = 0.0
