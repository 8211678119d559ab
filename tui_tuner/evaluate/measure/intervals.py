"""Medians with the interval that they lie in: resampled for what is reported, by order statistics for when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

import numpy as np

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


RatioVerdict = Literal["FAST", "SAME", "SLOW", "UNCLEAR"]


def ratio_verdict(low: float, high: float, delta: float) -> RatioVerdict:
    """FAST, SLOW or SAME: all of a ratio's interval is above, below or within a factor of 1 + delta; else UNCLEAR."""
    if low > 1 + delta:
        return "FAST"
    if high < 1 / (1 + delta):
        return "SLOW"
    return "SAME" if low >= 1 / (1 + delta) and high <= 1 + delta else "UNCLEAR"


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
