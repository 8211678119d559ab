"""Medians with bootstrap confidence intervals, for times and for ratios of paired times."""

from __future__ import annotations

from collections.abc import Sequence

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
    median, low, high = (float(np.exp(value)) for value in median_interval(logs))
    return median, low, high


def settled(samples: Sequence[float], precision: float) -> bool:
    """Whether the interval's half width is below `precision`, relative to the median."""
    median, low, high = median_interval(samples)
    return (high - low) / 2 <= precision * median
