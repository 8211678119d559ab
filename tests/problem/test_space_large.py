"""Spaces of any size: counted and drawn from without walking them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tui_tuner.problem.space import SearchSpace

GEMM = {
    "MWG": [16, 32, 64, 128, 256], "NWG": [16, 32, 64, 128, 256], "KWG": [8, 16, 32, 64, 128],
    "MDIMC": [4, 8, 16, 32], "NDIMC": [4, 8, 16, 32], "MDIMA": [4, 8, 16, 32], "NDIMB": [4, 8, 16, 32],
    "KWI": [2, 4, 8], "VWM": [1, 2, 4, 8], "VWN": [1, 2, 4, 8], "STRM": [0, 1], "STRN": [0, 1], "SA": [0, 1],
    "SB": [0, 1], **{f"free{i}": list(range(10)) for i in range(6)},
}  # fmt: skip
GEMM_RESTRICTIONS = [
    "KWG % KWI == 0",
    "MWG % (MDIMC * VWM) == 0",
    "NWG % (NDIMC * VWN) == 0",
    "MWG % (MDIMA * VWM) == 0",
    "NWG % (NDIMB * VWN) == 0",
    "KWG % ((MDIMC * NDIMC) / MDIMA) == 0",
    "KWG % ((MDIMC * NDIMC) / NDIMB) == 0",
]


def rng(seed):
    return random.Random(seed)  # noqa: S311 - it is to be the same again


def distinct(configurations):
    return len({tuple(configuration.values()) for configuration in configurations})


@pytest.mark.timeout(100)
def test_a_sample_of_a_restricted_space_of_10_to_the_12_is_valid_distinct_and_the_same_for_the_same_seed():
    space = SearchSpace(GEMM, GEMM_RESTRICTIONS, sizes={})
    sample = space.sample(500, rng(1))
    assert len(sample) == distinct(sample) == 500
    assert all(space.contains(configuration) for configuration in sample)
    assert sample == SearchSpace(GEMM, GEMM_RESTRICTIONS).sample(500, rng(1))
    assert space.size > 10**11
    assert space.size_up_to(1000) == 1000
    assert space.size_in_words == "more than 1,000,000"


def test_a_sample_of_a_space_that_cannot_be_walked_is_uniform():
    tunables = {"a": [1, 2, 3, 4], "b": [1, 2, 3, 4], "free": list(range(10**5))}
    space = SearchSpace(tunables, ["a <= b"])
    drawn = Counter((c["a"], c["b"]) for c in space.sample(5000, rng(3)))
    assert len(drawn) == 10
    assert all(400 < count < 600 for count in drawn.values())


@pytest.mark.timeout(100)
def test_a_rule_that_ties_twelve_tunables_together_is_too_much_to_count_and_still_drawn_from():
    names = [f"t{i}" for i in range(12)]
    weighted = " + ".join(f"{5**i} * {name}" for i, name in enumerate(names))
    space = SearchSpace({name: [0, 1, 2, 3, 4] for name in names}, [f"({weighted}) % 7 == 0"])
    sample = space.sample(50, rng(1))
    assert space.size_up_to(10**7) == 10**7
    assert space.size_in_words == "more than 1,000,000"
    assert len(sample) == distinct(sample) == 50
    assert all(space.contains(configuration) for configuration in sample)


@pytest.mark.timeout(100)
def test_the_few_valid_configurations_among_10_to_the_12_are_found():
    tunables = {f"t{i}": list(range(300)) for i in range(4)}
    space = SearchSpace(tunables, ["t1 == t0 + 1", "t2 == t1 * 31", "t3 == t2 + 9"])
    assert space.size == 9
    assert len(space.sample(100, rng(1))) == 9


def test_a_sample_larger_than_the_space_is_the_space_in_another_order():
    space = SearchSpace({"a": [1, 2, 3], "b": ["x", "y"]}, ["a != 2"])
    sample = space.sample(100, rng(1))
    assert sorted(map(str, sample)) == sorted(map(str, space.configurations()))


def test_a_space_without_configurations_has_no_sample():
    assert SearchSpace({"a": [1, 2]}, ["a > 2"]).sample(3, rng(1)) == []
    assert SearchSpace({"a": []}).sample(3, rng(1)) == []


def test_a_space_is_made_again_from_its_description():
    space = SearchSpace({"block_size_x": [32, 64], "v": [True, False]}, ["block_size_x < n"], sizes={"n": 64})
    again = SearchSpace.from_description(space.description)
    assert list(again.configurations()) == list(space.configurations())
    assert again.is_valid({"block_size_x": 64, "v": True}) == "breaks the restriction 'block_size_x < n'"
