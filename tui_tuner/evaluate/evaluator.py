"""What evaluates candidates, as a session sees it, and what it says once it is ready."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.measure import RatioVerdict, ratio_verdict
from tui_tuner.evaluate.profiling import Profile
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem, Test


@dataclass(frozen=True)
class MachineReport:
    """What an evaluator knows once it is ready.

    Attributes:
        sandbox: how builds are confined, in one line.
        note: something the user should know about the choice of device; may be empty.
        given: the kernel as given in its default configuration.
        tests: those in force that were proposed.
        dropped: a line for each proposed test that is not, with the reason.
        members: the only configurations of the kernel as given that there are; None where its tunables say all.
        devices: those that measure side by side, as the user names them.
        jobs: builds at once, where the evaluator says.
        left_out: a line for each kind of inputs at which the kernel as given fails, so that no candidate is checked.
        library: what the library needs that the problem names; None where none is named, or it cannot be timed.
        profiles: whether it can tell more of a configuration than its time.
        allowed: by how much elements of a floating-point output may be off at the strictest test; without tests, at the
            timed size.
    """

    device: DeviceInfo
    sandbox: str
    note: str
    given: Evaluation
    tests: list[Test] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    members: Sequence[Configuration] | None = None
    devices: Sequence[str] = ()
    jobs: int = 0
    left_out: list[str] = field(default_factory=list)
    library: LibraryTime | None = None
    profiles: bool = False
    allowed: dict[str, AllowedError] = field(default_factory=dict)


class Evaluator(Protocol):
    """Builds, verifies and measures; many calls may wait at once."""

    @property
    def doing(self) -> str:
        """What the device is at, in words; empty where that is not known."""

    async def sized_problem(self) -> Problem | None:
        """The problem at the sizes of the device that `start` takes, known without taking it.

        None where nothing is verified, so that tests are of no use.

        Raises:
            UserError: there is no such device.
        """

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """Take the device and check the kernel as given.

        Args:
            proposed: tests to verify at where the problem has none; one at which the kernel as given
                cannot be checked is dropped.

        Raises:
            UserError: device, compiler, sandbox, kernel or reference cannot be used.
        """

    def news(self) -> Sequence[str]:
        """What happened to devices since this was asked last, a line each."""

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, verify and measure one configuration; failures are results, not exceptions."""

    async def compare(
        self,
        incumbent: tuple[Candidate, Configuration],
        challenger: tuple[Candidate, Configuration],
        delta: float,
        *,
        thorough: bool = False,
    ) -> Comparison:
        """Time two configurations, interleaved, on data that neither has seen.

        Args:
            delta: gain from which on the challenger is faster, and is checked on more data before that counts.
            thorough: whether it is checked on these where it is not faster, too.
        """

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """What is known of a configuration that was measured, beside its time."""

    async def close(self) -> None:
        """Give the device back."""


async def in_both_turns(
    evaluator: Evaluator, first: tuple[Candidate, Configuration], second: tuple[Candidate, Configuration], delta: float
) -> Comparison:
    """The second against the first, which were both evaluated before: on fresh inputs, and timed in turns.

    Each is the challenger once, since only a challenger's outputs are looked at between its launches. The interval
    holds those of both turns; a failure is the second's.

    Raises:
        DeviceError: the first fails on fresh inputs.
    """
    there = await evaluator.compare(first, second, delta, thorough=True)
    if there.failure is not None:
        return there
    back = await evaluator.compare(second, first, delta, thorough=True)
    if back.failure is not None:  # the one that is known to be right: no verdict on the other
        raise DeviceError(f"the first kernel fails on fresh inputs: {back.failure.in_words}")
    return there.model_copy(
        update={
            "ratio": math.sqrt(there.ratio / back.ratio),
            "low": min(there.low, 1 / back.high),
            "high": max(there.high, 1 / back.low),
            "pairs": there.pairs + back.pairs,
        }
    )


ComparisonVerdict = RatioVerdict | Literal["WRONG"]


def verdict(comparison: Comparison, delta: float) -> ComparisonVerdict:
    """WRONG where it failed, else what its interval says, see `ratio_verdict`."""
    if comparison.failure is not None:
        return "WRONG"
    return ratio_verdict(comparison.low, comparison.high, delta)
