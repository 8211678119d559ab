"""Neighbours, repairs, and spaces that are known by listing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.problem.test_space_large import GEMM, GEMM_RESTRICTIONS, rng
from tui_tuner.problem.nearby import around, nearest_valid, neighbours
from tui_tuner.problem.space import SearchSpace

TUNABLES = {"tile": [64, 16, 32, 128], "vector": [1, 2, 4], "shared": [False, True], "layout": ["row", "col", "z"]}
SPACE = SearchSpace(TUNABLES, ["tile % (vector * 16) == 0", "not shared or tile < 128"])
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


@given(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in TUNABLES.items()}))
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
