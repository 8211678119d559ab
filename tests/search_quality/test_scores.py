from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from tui_tuner.lab.scores import Landscape, estimate, mean_of

TIMES = [5.0, 1.0, None, 2.0, 2.0, 9.0]


def test_a_curve_holds_the_best_so_far_and_begins_with_the_slowest_where_nothing_was_found():
    landscape = Landscape(TIMES)
    assert landscape.curve([None, 5.0, 9.0, 2.0], 6).tolist() == [9.0, 5.0, 5.0, 2.0, 2.0, 2.0]
    assert landscape.curve([1.0, 5.0, 2.0], 2).tolist() == [1.0, 1.0]
    assert landscape.curve([], 2).tolist() == [9.0, 9.0]


def test_the_baseline_is_the_mean_over_all_orders_of_drawing():
    landscape = Landscape(TIMES)
    curves = [landscape.curve(order, 6) for order in permutations(TIMES)]
    assert landscape.baseline(6) == pytest.approx(np.mean(curves, axis=0))


def test_the_baseline_stays_at_the_optimum_once_all_are_drawn():
    assert Landscape([2.0, 1.0]).baseline(5).tolist() == pytest.approx([1.5, 1.0, 1.0, 1.0, 1.0])
    assert Landscape([3.0]).baseline(2).tolist() == [3.0, 3.0]


def test_the_baseline_of_a_large_space_agrees_with_drawing_from_it():
    rng = np.random.default_rng(1)
    times = rng.lognormal(size=20_000).tolist()
    landscape = Landscape(times)
    drawn = [landscape.curve(rng.choice(times, size=200, replace=False).tolist(), 200) for _ in range(400)]
    assert landscape.baseline(200)[[9, 49, 199]] == pytest.approx(np.mean(drawn, axis=0)[[9, 49, 199]], rel=0.05)


def test_the_score_is_0_for_random_sampling_1_for_the_optimum_at_once_and_linear_between():
    landscape = Landscape(TIMES)
    assert landscape.score(landscape.baseline(5)) == pytest.approx(0)
    assert landscape.score(landscape.curve([1.0], 5)) == pytest.approx(1)
    assert landscape.score((landscape.baseline(5) + 1.0) / 2) == pytest.approx(0.5)
    assert landscape.score(landscape.curve([9.0, 9.0, 9.0], 5)) < 0
    orders = [landscape.score(landscape.curve(order, 6)) for order in permutations(TIMES)]
    assert np.mean(orders) == pytest.approx(0)


def test_a_space_where_nothing_can_be_won_scores_1():
    landscape = Landscape([2.0, 2.0, 2.0])
    assert landscape.score(landscape.curve([2.0], 3)) == 1.0


def test_the_fraction_is_the_optimum_over_the_best_time():
    landscape = Landscape(TIMES)
    curve = landscape.curve([5.0, 2.0, 1.0], 3)
    assert [landscape.fraction(curve, n) for n in (1, 2, 3)] == [0.2, 0.5, 1.0]


def test_a_mean_has_the_standard_error_of_its_repeats():
    assert estimate([1.0, 3.0]).mean == 2.0
    assert estimate([1.0, 3.0]).error == pytest.approx(1.0)
    assert estimate([2.0]).error is None
    mean = mean_of([estimate([1.0, 3.0]), estimate([4.0, 4.0])])
    assert (mean.mean, mean.error) == (3.0, pytest.approx(0.5))
    assert mean_of([estimate([1.0, 3.0]), estimate([2.0])]).error is None
    assert not math.isnan(mean.mean)
