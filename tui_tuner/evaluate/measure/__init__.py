"""How long a launch takes, and how sure that is.

Here: medians with their intervals, resampled for a time, by order statistics for ratios and when to stop; the mean of
what is in the middle; and which is fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import itemgetter
from statistics import fmean, median
from typing import Literal

import numpy as np

from tui_tuner.evaluate.results import Evaluation

RESAMPLES = 1000
CONFIDENCE = 0.95
_AT_EACH_LOOK = 2.576
"""Standard deviations to either side that hold 99 %."""


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
    """Median ratio first / second over pairs of times, with its 95 % interval, taken in log space.

    It holds for pairs that are taken until it is clear, too: at each look it is one of 99 %. With one of 95 %, where
    times scatter by a third, a kernel is faster than itself in one of ten comparisons.
    """
    logs = [math.log(first / second) for first, second in pairs]
    middle, low, high = (math.exp(value) for value in quick_interval(logs, _AT_EACH_LOOK))
    return middle, low, high


RatioVerdict = Literal["FAST", "SAME", "SLOW", "UNCLEAR"]


def ratio_verdict(low: float, high: float, delta: float) -> RatioVerdict:
    """FAST, SLOW or SAME: all of a ratio's interval is above, below or within a factor of 1 + delta; else UNCLEAR."""
    if low > 1 + delta:
        return "FAST"
    if high < 1 / (1 + delta):
        return "SLOW"
    return "SAME" if low >= 1 / (1 + delta) and high <= 1 + delta else "UNCLEAR"


def quick_interval(samples: Sequence[float], deviations: float = 1.96) -> tuple[float, float, float]:
    """Median of the samples with two of them that enclose it, with about 95 % confidence for 1.96 standard deviations.

    By order statistics: the number of samples below the median is binomial, here by its normal approximation
    (G. J. Hahn, W. Q. Meeker, Statistical Intervals, section 5.2). Takes microseconds, where resampling takes
    milliseconds, and holds for few samples as well.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    below = int((len(ordered) - deviations * math.sqrt(len(ordered))) / 2)
    return median(ordered), ordered[max(0, below)], ordered[min(len(ordered), len(ordered) - below) - 1]


def midmean(samples: Sequence[float]) -> float:
    """The mean without the fastest and slowest quarter.

    No outlier moves it, and where times are of a few kinds, as those of launches of microseconds are, or show the ticks
    of a clock, it does not jump from one to the next, as a median does.

    (J. W. Tukey, Exploratory Data Analysis, section 19.) Of up to four it is the median.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("no samples")
    ordered, quarter = sorted(samples), (len(samples) + 1) // 4
    return fmean(ordered[quarter : len(ordered) - quarter])


def settled(samples: Sequence[float], precision: float) -> bool:
    """Whether the interval's half width is below `precision`, relative to the median."""
    middle, low, high = quick_interval(samples)
    return (high - low) / 2 <= precision * middle


def fastest_first(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Those that were verified and timed, by their times."""
    timed = ((one.ms, one) for one in evaluations if one.ms is not None)
    return [one for _, one in sorted(timed, key=itemgetter(0))]
