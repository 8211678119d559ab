"""Spaces of any size: counted and drawn from without walking them; neighbours, repairs, and those known by listing."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.nearby import around, nearest_valid, neighbours
from tui_tuner.problem.space import SearchSpace

TUNABLES = {"block_size_x": [16, 32, 64], "block_size_y": [1, 2, 4], "vector": [1, 2], "layout": ["row", "column"]}


def brute_force(tunables, restrictions, sizes):
    for values in itertools.product(*tunables.values()):
        configuration = dict(zip(tunables, values, strict=True))
        try:
            if all(evaluate(text, {**sizes, **configuration}) for text in restrictions):
                yield configuration
        except ExpressionError:
            continue


RESTRICTIONS = [
    "block_size_x * block_size_y <= n",
    "block_size_x % (vector * 16) == 0 and (layout == 'row' or vector == 2)",
    "32 // (vector - 1) > 0",
    "n > 10",
    "n > 100000",
    "layout == 'column'",
    "block_size_y > vector or block_size_y == 1",
]


@given(st.lists(st.sampled_from(RESTRICTIONS), max_size=4), st.integers(1, 300))
def test_the_valid_configurations_are_those_that_trying_all_finds(restrictions, n):
    space = SearchSpace(TUNABLES, restrictions, sizes={"n": n})
    expected = list(brute_force(TUNABLES, restrictions, {"n": n}))
    found = list(space.configurations())
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert space.size == len(expected)
    assert space.is_empty == (not expected)
    assert space.enumerate_valid(3) == found[:3]
    assert all(space.contains(configuration) for configuration in found)


def test_configurations_name_the_tunables_in_their_order_and_come_in_the_same_order_again():
    space = SearchSpace(TUNABLES, ["vector * block_size_x > 16"])
    first = list(space.configurations())
    assert all(list(configuration) == list(TUNABLES) for configuration in first)
    assert first == list(SearchSpace(TUNABLES, ["vector * block_size_x > 16"]).configurations())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"block_size_x": 48}, "block_size_x = 48 is not among 16, 32, 64"),
        ({"vector": True}, "vector = True is not among 1, 2"),
        ({"vector": 2.0}, "vector = 2.0 is not among 1, 2"),
        ({"vectro": 1}, "there is no tunable 'vectro': did you mean 'vector'?"),
        ({"block_size_x": 64, "block_size_y": 4}, "256 threads in a block: the device takes 128"),
        ({"vector": 2}, "breaks the restriction 'block_size_x % (vector * 16) == 0'"),
        ({"layout": "column"}, "a restriction has no value: division by zero in '1 // (vector - 1) >= 0'"),
    ],
)
def test_an_invalid_configuration_is_told_why(change, reason):
    restrictions = [
        "block_size_x % (vector * 16) == 0 and layout != 'none'",
        "1 if layout == 'row' else 1 // (vector - 1) >= 0",
    ]
    space = SearchSpace(TUNABLES, restrictions, max_threads=128)
    configuration = {"block_size_x": 16, "block_size_y": 1, "vector": 1, "layout": "row", **change}
    found = space.is_valid(configuration)
    assert (found is None) == (reason is None)
    if reason is not None:
        assert reason.rpartition(" in '")[0] in found or reason in found
    assert space.contains(configuration) == (reason is None)


def test_a_configuration_without_a_value_for_a_tunable_is_invalid():
    assert SearchSpace({"a": [1], "b": [2]}).is_valid({"a": 1}) == "'b' has no value"


def test_the_thread_limit_follows_the_block_size_of_the_launch():
    space = SearchSpace({"tile": [1, 2, 4], "block_size_x": [4096]}, max_threads=128, block_size=["tile * 8", 8])
    assert [configuration["tile"] for configuration in space.configurations()] == [1, 2]


def test_no_tunables_make_a_space_of_one_configuration_unless_a_restriction_on_sizes_is_broken():
    assert list(SearchSpace({}, ["n > 1"], sizes={"n": 2}).configurations()) == [{}]
    assert SearchSpace({}, ["n > 1"], sizes={"n": 1}).size == 0


def test_a_restriction_with_an_unknown_name_is_refused_at_once():
    with pytest.raises(ExpressionError, match="did you mean 'vector'"):
        SearchSpace(TUNABLES, ["vectr > 1"])


@pytest.mark.timeout(20)
def test_a_hundred_million_combinations_are_counted_without_walking_them():
    tunables = {f"t{i}": list(range(1, 11)) for i in range(8)}
    chain = [f"t{i} * t{i + 1} == 12" for i in range(0, 8, 2)]
    assert SearchSpace(tunables, chain).size == 4**4
    linked = [f"t{i + 1} == t{i} + 1" for i in range(7)]
    assert SearchSpace(tunables, linked).size == 3
    free = SearchSpace({**tunables, "t8": list(range(50))})
    assert free.size == 50 * 10**8
    assert len(free.enumerate_valid(5)) == 5


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


@pytest.mark.slow
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


@pytest.mark.slow
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


NEAR_TUNABLES = {"tile": [64, 16, 32, 128], "vector": [1, 2, 4], "shared": [False, True], "layout": ["row", "col", "z"]}
SPACE = SearchSpace(NEAR_TUNABLES, ["tile % (vector * 16) == 0", "not shared or tile < 128"])
START = {"tile": 32, "vector": 1, "shared": False, "layout": "row"}


def changed(one, other):
    return {name: value for name, value in other.items() if one[name] != value}


def test_neighbours_are_one_step_away_in_one_tunable_and_valid():
    assert [changed(START, neighbour) for neighbour in neighbours(SPACE, START)] == [
        {"tile": 16}, {"tile": 64}, {"vector": 2}, {"shared": True}, {"layout": "col"}, {"layout": "z"}
    ]  # fmt: skip
    at_the_edge = {**START, "tile": 128, "vector": 4}
    assert [changed(at_the_edge, neighbour) for neighbour in neighbours(SPACE, at_the_edge)] == [
        {"tile": 64}, {"vector": 2}, {"layout": "col"}, {"layout": "z"}
    ]  # fmt: skip


def test_what_is_around_has_half_and_double_where_a_list_has_finer_steps():
    space = SearchSpace({"block": list(range(8, 257, 8)), "tile": [1, 2, 4], "on": [False, True]}, ["block < 120"])
    start = {"block": 64, "tile": 2, "on": True}
    assert [changed(start, one) for one in around(space, start)] == [
        {"block": 56}, {"block": 72}, {"tile": 1}, {"tile": 4}, {"on": False}, {"block": 32}
    ]  # fmt: skip
    assert changed(start, around(space, {**start, "block": 48})[-1]) == {"block": 96}


@pytest.mark.parametrize(
    ("proposal", "changes"),
    [
        ({}, {}),
        ({"tile": 40}, {}),
        ({"tile": 1000}, {"tile": 128}),
        ({"tile": "16"}, {"tile": 16}),
        ({"vector": 4}, {"vector": 2}),
        ({"layout": "column"}, {"layout": "col"}),
        ({"layout": "?!"}, {}),
        ({"shared": 1}, {"shared": True}),
        ({"tile": 128, "shared": True}, {"tile": 128}),
        ({"unknown": 3}, {}),
    ],
)
def test_a_proposal_is_repaired_with_as_few_changes_as_possible(proposal, changes):
    repaired = nearest_valid(SPACE, {**START, **proposal})
    assert repaired is not None
    assert SPACE.contains(repaired)
    assert repaired == {**START, **changes}


def test_missing_values_are_those_of_the_default():
    assert nearest_valid(SPACE, {"tile": 64}) == {"tile": 64, "vector": 1, "shared": False, "layout": "row"}
    assert nearest_valid(SPACE, {"tile": 64}, default={"vector": 2, "layout": "z"}) == {
        "tile": 64, "vector": 2, "shared": False, "layout": "z",
    }  # fmt: skip


def test_what_must_change_anyway_changes_before_anything_else_does():
    space = SearchSpace({"block": [32, 48, 64], "rows": [1, 2], "read_only": [0, 1]}, ["read_only == 0 or block < 64"])
    repaired = nearest_valid(space, {"block": 64, "rows": 2, "read_only": 2})
    assert repaired == {"block": 64, "rows": 2, "read_only": 0}
    listed = SearchSpace(space.tunables, members=list(space.configurations()))
    assert nearest_valid(listed, {"block": 64, "rows": 2, "read_only": 2}) == repaired


@given(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in NEAR_TUNABLES.items()}))
def test_no_valid_configuration_has_fewer_changes_than_the_repaired_one(proposal):
    repaired = nearest_valid(SPACE, proposal)
    assert len(changed(proposal, repaired)) == min(len(changed(proposal, c)) for c in SPACE.configurations())


@pytest.mark.timeout(30)
def test_random_proposals_in_a_space_of_10_to_the_12_are_repaired():
    space = SearchSpace(GEMM, GEMM_RESTRICTIONS)
    numbers = rng(1)
    for _ in range(20):
        repaired = nearest_valid(space, {name: numbers.choice(values) for name, values in GEMM.items()})
        assert repaired is not None
        assert space.contains(repaired)


def test_an_empty_space_has_nothing_near():
    assert nearest_valid(SearchSpace({"a": [1, 2]}, ["a > 2"]), {"a": 1}) is None
    assert nearest_valid(SearchSpace({"a": []}), {"a": 1}) is None
    assert nearest_valid(SearchSpace({"a": [1]}, ["n > 1"], sizes={"n": 1}), {"a": 1}) is None


LISTED = [{"a": 1, "b": "x"}, {"a": 4, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "y"}]
RECORDING = SearchSpace({"a": [1, 2, 3, 4], "b": ["x", "y"]}, ["a < 4"], members=LISTED)


def test_of_a_space_known_by_listing_only_the_members_exist_and_restrictions_hold_for_them_too():
    assert list(RECORDING.configurations()) == [LISTED[0], LISTED[2], LISTED[3]]
    assert RECORDING.size == 3
    assert RECORDING.is_valid({"a": 1, "b": "y"}) == "the recording does not hold it"
    assert RECORDING.is_valid({"a": 4, "b": "x"}) == "breaks the restriction 'a < 4'"
    assert neighbours(RECORDING, LISTED[2]) == [LISTED[3]]
    assert nearest_valid(RECORDING, {"a": 4, "b": "y"}) == LISTED[3]
    assert len(RECORDING.sample(9, rng(1))) == 3
    assert SearchSpace({"a": [1]}, members=[]).is_empty
    assert SearchSpace.from_description(RECORDING.description).size == 3
