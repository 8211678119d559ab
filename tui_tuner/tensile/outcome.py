"""What one run of Tensile said, kept small enough for a journal, the screen and a prompt. GFLOP/s and seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from tui_tuner.format import counted, duration
from tui_tuner.tensile.document import ParameterValue, value_text

SizeKey = tuple[int, tuple[int, ...]]
"""A size group's number and a problem size."""
ParameterValues = dict[str, ParameterValue]
"""Forked parameters by name, with the value that a solution has of each."""
_FEW = 1000
"""Speeds below it, in GFLOP/s, are written with decimals."""
FINALS = 1000
"""Rounds of this number on are runs in which the first winners and the best are compared again."""


class _Result(BaseModel):
    """Immutable and serialisable: stands in the journal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RunFailureKind(StrEnum):
    """Why a run gave no results."""

    REFUSED = "refused by Tensile"  # it ended by an error of its own, with a reason
    CRASH = "crash"
    TIMEOUT = "time-out"
    MALFORMED = "malformed results"
    NOTHING_VALID = "no valid result"  # every solution was rejected, or failed validation


class RunFailure(_Result):
    """A classified failure.

    Attributes:
        message: one line, the reason in words.
        detail: the end of what Tensile printed, cleaned; may be empty.
    """

    kind: RunFailureKind
    message: str
    detail: str = ""


class Contender(_Result):
    """A solution at one problem size.

    Attributes:
        solution: its name, as Tensile gives it.
        values: its values of the forked parameters.
        derived: digest of all its parameters as Tensile derives them; equal for equal kernels. Empty where not known.
        alike: other values of parameters with which Tensile makes the same solution, as 2 where -1 became 2.
    """

    solution: str
    values: ParameterValues
    gflops: float
    derived: str = ""
    alike: dict[str, list[ParameterValue]] = {}


class SizeOutcome(_Result):
    """One problem size in one run.

    Attributes:
        group: number of the size group in the file, from 0; that of the results' `_NN`.
        size: as in `Exact`, without strides.
        ranked: the fastest solutions, the winner first; empty where none was valid.
        slowest: the slowest of them.
        measured: solutions with a time.
        failed: solutions that failed validation.
        microseconds: of the winner's launch, None where it is not told.
    """

    group: int
    size: list[int]
    ranked: list[Contender]
    slowest: list[Contender] = []
    measured: int
    failed: int = 0
    microseconds: float | None = None

    @property
    def place(self) -> SizeKey:
        """Group and size."""
        return self.group, tuple(self.size)

    @property
    def winner(self) -> Contender | None:
        """The fastest solution."""
        return self.ranked[0] if self.ranked else None


class ValueEffect(_Result):
    """What one value of a forked parameter went with, over all problem sizes of its group.

    Attributes:
        best: of the solutions with it, as a mean share of each size's winner, 0 to 1.
        median: the same of their median.
        solutions: how many there are.
    """

    group: int
    parameter: str
    value: ParameterValue
    best: float
    median: float
    solutions: int


class GroupOutcome(_Result):
    """One size group in one run.

    Attributes:
        permutations: of its forked parameters.
        solutions: those that Tensile made kernels of; None where it does not tell.
        rejected: how many permutations were rejected, by reason; where Tensile tells. One may have several reasons.
        rejections: how many were rejected; None where only the reasons are known.
        duplicates: permutations that Tensile dropped because they derive to the solution of another one.
    """

    group: int
    permutations: int
    solutions: int | None = None
    rejected: dict[str, int] = {}
    rejections: int | None = None
    duplicates: int = 0

    @property
    def rejected_count(self) -> int:
        """Permutations that were rejected, as far as it is known."""
        return sum(self.rejected.values()) if self.rejections is None else self.rejections


class RoundOutcome(_Result):
    """One run of Tensile.

    Attributes:
        seconds: that it took.
        device: as Tensile names it; empty where it does not.
        failure: why there are no results.
        notes: what else the reader should know of the results.
    """

    seconds: float
    groups: list[GroupOutcome] = []
    sizes: list[SizeOutcome] = []
    effects: list[ValueEffect] = []
    phases: dict[str, float] = {}
    device: str = ""
    failure: RunFailure | None = None
    notes: list[str] = []

    @property
    def permutations(self) -> int:
        """The permutations of all size groups."""
        return sum(group.permutations for group in self.groups)


class Winner(_Result):
    """The best solution so far at one problem size.

    Attributes:
        round: in which it was measured; 0 is the configuration as given.
        first_gflops: of the first run's winner at this size; None where that had none.
    """

    group: int
    size: list[int]
    solution: str
    values: ParameterValues
    gflops: float
    microseconds: float | None = None
    round: int
    first_gflops: float | None = None

    @property
    def place(self) -> SizeKey:
        """Group and size."""
        return self.group, tuple(self.size)

    @property
    def gain(self) -> float | None:
        """Over the first run's winner, as a factor."""
        return None if self.first_gflops is None else self.gflops / self.first_gflops


def size_text(size: Iterable[int]) -> str:
    """A problem size as people write it: 256x128x1x4096."""
    return "x".join(map(str, size))


def geometric_mean(factors: Iterable[float]) -> float | None:
    """The geometric mean of positive factors; None of none."""
    logs = [math.log(factor) for factor in factors]
    return math.exp(sum(logs) / len(logs)) if logs else None


def mean_gain(winners: Iterable[Winner]) -> float | None:
    """Geometric mean of the gains over the first run's winners; None where none of them is known."""
    return geometric_mean(winner.gain for winner in winners if winner.gain is not None)


def mean_speed(winners: Iterable[Winner]) -> float | None:
    """Geometric mean of the winners' GFLOP/s; None without one."""
    return geometric_mean(winner.gflops for winner in winners if winner.gflops > 0)


def round_words(number: int) -> str:
    """What a run is called: round 2, or final run 1 where the finalists are measured again."""
    return f"round {number}" if number < FINALS else f"final run {number - FINALS + 1}"


def outcome_words(outcome: RoundOutcome) -> str:
    """How a run ended and how long it took, on one line."""
    took = duration(outcome.seconds)
    if outcome.failure is not None:
        return f"{outcome.failure.kind} after {took}: {outcome.failure.message}"
    failed = sum(size.failed for size in outcome.sizes)
    rejected = sum(group.rejected_count for group in outcome.groups)
    duplicates = sum(group.duplicates for group in outcome.groups)
    more = [
        *([f"{rejected:,} rejected"] if rejected else []),
        *([f"{counted(duplicates, 'duplicate')} dropped"] if duplicates else []),
        *([f"{failed:,} failed validation"] if failed else []),
    ]
    work = work_words(outcome.permutations, len(outcome.sizes))
    return f"{work} measured in {took}{''.join(f', {words}' for words in more)}"


def work_words(permutations: int, sizes: int) -> str:
    """What a run has to measure."""
    return f"{counted(permutations, 'permutation')} x {counted(sizes, 'size')}"


def gflops_words(gflops: float) -> str:
    """A speed in GFLOP/s with four digits or more, as in 9,310 and 81.27."""
    if gflops >= _FEW:
        return f"{gflops:,.0f}"
    return f"{gflops:.1f}" if gflops >= _FEW / 10 else f"{gflops:.2f}"


def values_words(values: Mapping[str, ParameterValue]) -> str:
    """Forked parameters with their values, on one line, lists without blanks; empty where nothing is forked."""
    return " ".join(f"{name} {value_text(value).replace(', ', ',')}" for name, value in values.items())
