from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.problem.expressions import ExpressionError, evaluate
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
