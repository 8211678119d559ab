"""Configurations as points: what is a coordinate, what is expected before anything is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.features import MOST_BLOCKS, NO_POWER_OF_TWO, PART_OF_A_WARP, UNUSUAL, FeatureMap
from tui_tuner.search.surrogate import SurrogateJob, run

BLOCK = SearchSpace({"block_size_x": [16, 32, 48, 64, 96, 128, 256], "block_size_y": [1, 2, 4]})


def expected(space: SearchSpace, *configurations: Configuration) -> list[float]:
    places = [[sorted(space.tunables[name]).index(value) for name, value in one.items()] for one in configurations]
    return [float(value) for value in FeatureMap(space).expected(np.array(places))]


def block(x: int, y: int) -> Configuration:
    return {"block_size_x": x, "block_size_y": y}


@pytest.mark.parametrize(
    ("one", "time"),
    [
        (block(128, 1), 0.0),
        (block(64, 4), 0.0),
        (block(256, 4), 2 * UNUSUAL),
        (block(32, 1), UNUSUAL * math.log2(90 / 32)),
        (block(96, 2), NO_POWER_OF_TWO),
        (block(48, 2), NO_POWER_OF_TWO),
        (block(16, 1), PART_OF_A_WARP + UNUSUAL * math.log2(90 / 16)),
    ],
)
def test_blocks_of_some_whole_warps_and_powers_of_two_are_expected_to_be_fast(one, time):
    assert expected(BLOCK, one) == pytest.approx([time])


def test_the_launch_says_what_a_block_is_and_one_tunable_may_count_warps():
    space = SearchSpace({"warps": [1, 4, 16]}, block_size=["32 * warps"])
    assert expected(space, {"warps": 4}, {"warps": 16}) == [0, UNUSUAL]
    assert expected(SearchSpace({"warps": [1, 4, 16]}), {"warps": 4}, {"warps": 16}) == [0, 0]


@pytest.mark.parametrize("extent", ["64 / (n - 1)", "n - 1"])
def test_of_a_block_that_has_no_size_nothing_is_expected(extent):
    assert expected(SearchSpace({"n": [1, 2, 4]}, block_size=[extent]), {"n": 1}, {"n": 4}) == [0, 0]


def test_nothing_is_expected_where_too_many_values_decide_about_a_block():
    names = [f"t{number}" for number in range(6)]
    space = SearchSpace({name: list(range(1, 9)) for name in names}, block_size=[" + ".join(names)])
    assert space.size > MOST_BLOCKS
    assert expected(space, dict.fromkeys(names, 1)) == [0]


def test_text_switches_and_what_is_all_powers_of_two_are_expected_to_make_no_difference():
    space = SearchSpace({"layout": ["a", "b", "c"], "use": [0, 1], "unroll": [1, 2, 4], "pair": [2, 3]})
    assert not FeatureMap(space).expected(np.array([[2, 1, 2, 1], [0, 0, 0, 0]])).any()


def test_blocks_of_as_many_threads_and_powers_of_two_are_near_each_other_in_a_coordinate():
    features = FeatureMap(BLOCK)
    wide, tall, odd = features.points(np.array([[5, 0], [3, 1], [4, 0]])).coordinates
    assert wide[-1] == tall[-1] != odd[-1]
    assert (wide == tall).sum() > 1, "both are powers of two"
    assert len(features.groups) == len(wide)


def test_the_first_ones_are_drawn_where_little_time_is_expected():
    space = SearchSpace({"block_size_x": list(range(1, 1025)), "n": list(range(16))})
    rng = np.random.default_rng(0)
    asked: list[Configuration] = []

    def measure(batch: list[Configuration], _: int) -> list[tuple[Configuration, float | None]]:
        asked.extend(batch)
        return [(one, float(rng.random())) for one in batch]

    run(SurrogateJob(space, seed=0, max_evaluations=8), measure)
    anywhere = FeatureMap(space).expected(np.array([[place, 0] for place in range(1024)])).mean()
    assert np.mean(expected(space, *asked)) < 0.9 * anywhere


def test_what_is_expected_is_unlearnt_where_it_is_wrong():
    space = SearchSpace({"block_size_x": list(range(8, 1032, 8)), "block_size_y": [1, 2, 3, 4, 5]})
    asked: list[Configuration] = []

    def time(one: Configuration) -> float:
        return 1 + abs(float(one["block_size_x"]) - 1000) / 100 + abs(float(one["block_size_y"]) - 3)

    def measure(batch: list[Configuration], _: int) -> list[tuple[Configuration, float | None]]:
        asked.extend(batch)
        return [(one, time(one)) for one in batch]

    run(SurrogateJob(space, seed=1, max_evaluations=45), measure)
    assert min(map(time, asked)) == 1.0
