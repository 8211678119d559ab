from __future__ import annotations

import numpy as np
import pytest

from tui_tuner.evaluate.measure import median_interval, ratio_interval, settled


def test_the_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        _, low, high = median_interval(list(rng.normal(10, 1, 25)))
        hits += low <= 10 <= high
    assert 0.88 <= hits / 200 <= 1.0


def test_equal_samples_have_an_interval_without_width() -> None:
    assert median_interval([2.0] * 10) == (2.0, 2.0, 2.0)


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])


def test_drift_that_hits_both_of_a_pair_does_not_widen_the_ratio() -> None:
    drift = np.linspace(1, 2, 40)
    ratio, low, high = ratio_interval([(3 * d, 2 * d) for d in drift])
    assert ratio == pytest.approx(1.5)
    assert high - low < 1e-9


def test_an_outlier_does_not_move_the_median_but_keeps_it_from_settling() -> None:
    assert settled([1.0] * 20, 0.005)
    assert not settled([1.0, 1.5] * 5, 0.005)
