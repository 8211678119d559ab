"""Timing: enough launches for a narrow interval, few for what is hopeless, interleaved pairs for a verdict."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tui_tuner.evaluate.results import Timing

TimeLaunches = Callable[[int], list[float]]
"""Times so many launches, ms each."""


@dataclass(frozen=True)
class Patience:
    """How long to measure.

    Attributes:
        precision: half width of the interval at which to stop, relative to the median.
        warmup_s: seconds of launches before the first sample.
        limit_s: seconds of samples at most.
        hopeless: multiple of the incumbent's time from which on three samples are enough.
        contender: multiple from which on one batch is, without warming up, if its interval lies above.
    """

    samples: int = 10
    most_samples: int = 200
    precision: float = 0.005
    warmup_s: float = 0.05
    limit_s: float = 0.6
    hopeless: float = 3.0
    contender: float = 1.2
    pairs: int = 30
    most_pairs: int = 120
    pair_limit_s: float = 6.0


CPU_PATIENCE = Patience(samples=5, most_samples=40, warmup_s=0.02, limit_s=0.12)
"""Where a CPU runs the kernel: other programs make its times scatter by percents, however many are taken."""


def measure(
    launches: TimeLaunches, patience: Patience, *, best_ms: float | None, cpu: bool, warm: bool = False
) -> Timing:
    """The time of one launch with its 95 % interval.

    Stops when the interval is narrow enough (the stop rule of nvbench, on the median), when the time is spent, or
    early where the incumbent is so much faster that more samples would change nothing.

    Args:
        best_ms: the shortest time known, ms; None for none.
        cpu: whether the times are those of a CPU.
        warm: whether the device has been at work until now.
    """
    first = launches(1)[0]
    if best_ms is not None and first > patience.contender * best_ms:
        few = 2 if first > patience.hopeless * best_ms else _batch(first, patience.samples) - 1
        samples = [first, *launches(few)]
        if quick_interval(samples)[1] > patience.contender * best_ms:
            return _timing(samples, cpu)
    if not warm:
        _warm_up(launches, first, patience)
    samples = list(launches(_batch(first, patience.samples)))
    start = time.perf_counter()
    while _more(samples, patience) and time.perf_counter() - start < patience.limit_s:
        samples += launches(_batch(first, patience.samples))
    return _timing(samples, cpu)


def _batch(first_ms: float, most: int) -> int:
    return max(2, min(most, int(200 / max(first_ms, 0.01))))


def _warm_up(launches: TimeLaunches, first_ms: float, patience: Patience) -> None:
    start = time.perf_counter()
    while time.perf_counter() - start < patience.warmup_s:
        launches(_batch(first_ms, 5))


def _more(samples: list[float], patience: Patience) -> bool:
    if len(samples) < patience.samples:
        return True
    return len(samples) < patience.most_samples and not settled(samples, patience.precision)


def _timing(samples: list[float], cpu: bool) -> Timing:
    middle, low, high = median_interval(samples)
    return Timing(median=middle, low=low, high=high, samples=len(samples), cpu=cpu)


@dataclass(frozen=True)
class TimePairs:
    """Interleaved times of incumbent and challenger, ms."""

    times: list[tuple[float, float]]

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Incumbent's time / challenger's time: median with the ends of its interval."""
        return ratio_interval(self.times)

    def timing(self, which: int, *, cpu: bool) -> Timing:
        """Time of the incumbent (0) or the challenger (1)."""
        return _timing([pair[which] for pair in self.times], cpu)


def interleaved(incumbent: TimeLaunches, challenger: TimeLaunches, patience: Patience, delta: float) -> TimePairs:
    """Pairs of times in random order, so that drift of the clock hits both alike.

    Ends after `patience.pairs` once the interval of the ratio is clear of 1 + delta on either side,
    or when it is narrower than delta / 2, or when the time or the pairs are used up.
    """
    for warm in (incumbent, challenger):
        warm(1)
    order = np.random.default_rng()
    times: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(times) < patience.most_pairs:
        if order.random() < 0.5:
            old, new = incumbent(1)[0], challenger(1)[0]
        else:
            new, old = challenger(1)[0], incumbent(1)[0]
        times.append((old, new))
        spent = time.perf_counter() - start
        if len(times) >= 8 and (spent > patience.pair_limit_s or _decided(times, patience, delta)):
            break
    return TimePairs(times)


def _decided(times: list[tuple[float, float]], patience: Patience, delta: float) -> bool:
    if len(times) % 5:
        return False
    _, low, high = ratio_interval(times)
    if high / low - 1 < delta / 2:
        return True
    return len(times) >= patience.pairs and not low <= 1 + delta <= high


RESAMPLES = 1000
CONFIDENCE = 0.95


def median_interval(samples: Sequence[float]) -> tuple[float, float, float]:
    """Median of the samples with the ends of its 95 % percentile bootstrap interval.

    The resampling is seeded by the number of samples, so equal samples give equal intervals.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("no samples")
    values = np.asarray(samples, dtype=np.float64)
    rng = np.random.default_rng(len(values))
    medians = np.median(rng.choice(values, size=(RESAMPLES, len(values))), axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return float(np.median(values)), float(low), float(high)


def ratio_interval(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Median ratio first / second over pairs of times, with its 95 % interval, taken in log space."""
    logs = [float(np.log(first / second)) for first, second in pairs]
    middle, low, high = (float(np.exp(value)) for value in median_interval(logs))
    return middle, low, high


def quick_interval(samples: Sequence[float]) -> tuple[float, float, float]:
    """Median of the samples with two of them that enclose it with about 95 % confidence.

    By order statistics: the number of samples below the median is binomial, here by its normal approximation
    (G. J. Hahn, W. Q. Meeker, Statistical Intervals, section 5.2). Takes microseconds, where resampling takes
    milliseconds: it decides when to stop, and is not reported.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    below = int((len(ordered) - 1.96 * math.sqrt(len(ordered))) / 2)
    return median(ordered), ordered[max(0, below)], ordered[min(len(ordered), len(ordered) - below) - 1]


def settled(samples: Sequence[float], precision: float) -> bool:
    """Whether the interval's half width is below `precision`, relative to the median."""
    middle, low, high = quick_interval(samples)
    return (high - low) / 2 <= precision * middle
