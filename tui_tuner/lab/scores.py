"""Recorded search spaces, and numbers that say how good a search is on one of which every time is known.

F. J. Willemsen, R. Schoonhoven, J. Filipovič, J. O. Tørring, R. van Nieuwpoort, B. van Werkhoven: A methodology for
comparing optimization algorithms for auto-tuning, Future Generation Computer Systems 159, 2024. The score here goes
over evaluations where theirs goes over time, and its baseline is the exact expectation where theirs is near it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.recorded import Recording
from tui_tuner.evaluate.recorded.problem import problem_beside, problem_of_recording
from tui_tuner.evaluate.recorded.reading import ENDINGS, read_recording, stem_of
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.problem.space import SearchSpace

Curve = NDArray[np.float64]
"""The best time after 1, 2, 3, ... evaluations, ms."""


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats.

    Attributes:
        error: standard error of the mean; None where there is but one repeat.
    """

    mean: float
    error: float | None


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of some values, at least one, with its standard error."""
    count = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(count) if count > 1 else None
    return Estimate(float(np.mean(values)), error)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates, at least one, with its standard error."""
    errors = [estimate.error for estimate in estimates if estimate.error is not None]
    error = math.hypot(*errors) / len(estimates) if len(errors) == len(estimates) else None
    return Estimate(float(np.mean([estimate.mean for estimate in estimates])), error)


@dataclass(frozen=True)
class Landscape:
    """The times of a whole search space.

    Args:
        times: of every configuration, ms; None where it fails. At least one is a time.
    """

    times: Sequence[float | None]

    @cached_property
    def optimum(self) -> float:
        """The least time, ms."""
        return min(time for time in self.times if time is not None)

    @cached_property
    def slowest(self) -> float:
        """The greatest time, ms: what a search counts as having found that has found nothing yet."""
        return max(time for time in self.times if time is not None)

    def curve(self, found: Sequence[float | None], evaluations: int) -> Curve:
        """The best time after each of so many evaluations.

        Args:
            found: what the evaluations gave in their order, None for failures. Where they end early the best holds on.
        """
        times = [self.slowest if time is None else time for time in found[:evaluations]]
        times += [self.slowest] * (evaluations - len(times))
        best: Curve = np.minimum.accumulate(np.asarray(times, dtype=np.float64))
        return best

    def baseline(self, evaluations: int) -> Curve:
        """The expected best of random sampling without replacement after each of so many evaluations.

        With the times t_0 <= ... <= t_(N-1), a failure standing at the slowest, and S_i(n) the chance that none of
        the i fastest is among n drawn, which is C(N-i, n) / C(N, n), the expectation is
        t_0 + sum over i >= 1 of (t_i - t_(i-1)) S_i(n). Once all are drawn it is the optimum.
        """
        if evaluations not in self._baselines:
            self._baselines[evaluations] = self._expected(evaluations)
        return self._baselines[evaluations]

    @cached_property
    def _baselines(self) -> dict[int, Curve]:
        return {}

    def _expected(self, evaluations: int) -> Curve:
        times = np.sort([self.slowest if time is None else time for time in self.times])
        count = len(times)
        steps, others = np.diff(times), np.arange(count - 1, 0, -1, dtype=np.float64)
        missed = np.ones(count - 1)
        expected = np.full(evaluations, times[0])
        for drawn in range(min(evaluations, count)):
            missed *= np.maximum(others - drawn, 0) / (count - drawn)
            expected[drawn] += steps @ missed
        return expected

    def fraction(self, curve: Curve, evaluations: int) -> float:
        """The optimum over the best time after so many evaluations: 1 is the optimum."""
        return self.optimum / float(curve[evaluations - 1])

    def score(self, curve: Curve) -> float:
        """The P score: 0 as good as random sampling, 1 the optimum from the first evaluation on.

        The mean over the evaluations n of (baseline(n) - curve(n)) / (baseline(n) - optimum), as far as the baseline
        is above the optimum. It is linear in the curve, so the score of a mean curve is the mean of the scores.
        """
        baseline = self.baseline(len(curve))
        room = baseline - self.optimum
        counted = room > 1e-9 * self.optimum
        return float(np.mean((baseline - curve)[counted] / room[counted])) if counted.any() else 1.0


@dataclass(frozen=True)
class RecordedSpace:
    """A recording, and the problem file that is given with it or stands beside it; None for neither."""

    recording: Path
    problem_file: Path | None

    @property
    def name(self) -> str:
        """The name of the file without its endings."""
        return stem_of(self.recording)


def recorded_space(text: str) -> RecordedSpace:
    """The space that the user names: `conv.json.gz`, `conv.toml` beside it, or `conv.json.gz:other.toml`.

    Raises:
        SettingsError: a file is missing.
    """
    recording, _, problem = text.rpartition(":") if text.endswith(".toml") else (text, "", "")
    if not recording:
        return RecordedSpace(_recording_beside(Path(problem)), Path(problem))
    for file in (Path(recording), Path(problem or recording)):
        if not file.is_file():
            hint = "DATA is a recording, or RECORDING:PROBLEM.toml"
            raise SettingsError(f"there is no file {file}", hint=hint)
    return RecordedSpace(Path(recording), Path(problem) if problem else problem_beside(Path(recording)))


def _recording_beside(problem: Path) -> Path:
    for ending in ENDINGS:
        file = problem.parent / f"{problem.stem}{ending}"
        if problem.is_file() and file.is_file():
            return file
    message = f"there is no recording {problem.stem}.json or {problem.stem}.json.gz beside {problem}"
    raise SettingsError(message, hint=f"name it, as in conv.json.gz:{problem}")


@dataclass(frozen=True)
class LoadedSpace:
    """A recorded space in memory."""

    recording: Recording
    problem: Problem

    @cached_property
    def space(self) -> SearchSpace:
        """The configurations on record that the restrictions allow."""
        candidate = baseline(self.problem)
        return candidate.space(sizes=self.problem.sizes, max_threads=None, members=self.recording.members)

    @cached_property
    def landscape(self) -> Landscape:
        """The times of the whole space."""
        return Landscape([self.time(configuration) for configuration in self.space.configurations()])

    def time(self, configuration: Configuration) -> float | None:
        """What is on record of a configuration, ms; None for a failure."""
        entry = self.recording.entry(configuration)
        return None if entry is None else entry.time


@lru_cache(maxsize=8)
def load(data: RecordedSpace) -> LoadedSpace:
    """Read a recorded space; once a process.

    Raises:
        UserError: it cannot be used.
    """
    recording = read_recording(data.recording)
    return LoadedSpace(recording, problem_of_recording(recording, data.problem_file).problem)
