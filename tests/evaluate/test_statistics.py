from __future__ import annotations

import numpy as np
import pytest

from tui_tuner.evaluate.measure import Patience, measure, median_interval, quick_interval, ratio_interval, settled


def test_the_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        _, low, high = median_interval(list(rng.normal(10, 1, 25)))
        hits += low <= 10 <= high
    assert 0.88 <= hits / 200 <= 1.0


@pytest.mark.parametrize("count", [5, 10, 50, 200])
def test_the_quick_interval_holds_the_true_median_about_as_often_as_it_says(count: int) -> None:
    rng = np.random.default_rng(count)
    hits = 0
    for _ in range(400):
        middle, low, high = quick_interval(list(rng.exponential(1, count)))
        assert low <= middle <= high
        hits += low <= np.log(2) <= high
    assert 0.9 <= hits / 400 <= 1.0


class Launches:
    """Launches whose times scatter by one in a hundred around a median, ms; all of them are counted."""

    def __init__(self, median: float) -> None:
        self._median = median
        self._random = np.random.default_rng(1)
        self.count = 0

    def __call__(self, count: int) -> list[float]:
        self.count += count
        return [float(time) for time in self._random.normal(self._median, self._median / 100, count)]


@pytest.mark.parametrize(("median", "launched"), [(10.0, 3), (1.5, 10)])
def test_what_is_clearly_slower_than_the_best_is_not_warmed_up_and_timed_a_few_times(
    median: float, launched: int
) -> None:
    launches = Launches(median)
    timing = measure(launches, Patience(), best_ms=1.0, cpu=False)
    assert launches.count == timing.samples == launched
    assert timing.median == pytest.approx(median, rel=0.02)


@pytest.mark.parametrize("best_ms", [None, 1.0])
def test_what_may_be_the_best_is_timed_until_the_interval_is_narrow(best_ms: float | None) -> None:
    timing = measure(Launches(1.0), Patience(), best_ms=best_ms, cpu=False, warm=True)
    assert 10 <= timing.samples <= 200
    assert (timing.high - timing.low) / 2 < 0.01 * timing.median


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
