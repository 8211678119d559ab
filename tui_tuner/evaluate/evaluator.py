"""The seam between the session and the machine: candidates in, evaluations out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration


@dataclass(frozen=True)
class Started:
    """What an evaluator knows once it is ready.

    Attributes:
        sandbox: how builds are confined, in one line.
        note: something the user should know about the choice of device; may be empty.
        given: the kernel as given in its default configuration.
    """

    device: DeviceInfo
    sandbox: str
    note: str
    given: Evaluation


class Evaluator(Protocol):
    """Builds, verifies and measures; many calls may wait at once."""

    async def start(self) -> Started:
        """Take the device and check the kernel as given.

        Raises:
            UserError: device, compiler, sandbox, kernel or reference cannot be used.
        """
        ...

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, verify and measure one configuration; failures are results, not exceptions."""
        ...

    async def compare(
        self, incumbent: tuple[Candidate, Configuration], challenger: tuple[Candidate, Configuration], delta: float
    ) -> Comparison:
        """Time two configurations in turns on data that neither has seen."""
        ...

    async def close(self) -> None:
        """Give the device back."""
        ...
