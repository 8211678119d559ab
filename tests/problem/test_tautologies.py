from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.problem.test_contradiction import COMPARISONS, SMALL
from tui_tuner.problem.contradiction import MOST_COMBINATIONS, without_tautologies
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.space import SearchSpace

TUNABLES = {"block_size_x": [32, 64, 128], "vector": [1, 2, 4], "layout": ["row", "column"]}


@pytest.mark.parametrize(
    ("restriction", "kept"),
    [
        ("block_size_x % 32 == 0", []),
        ("block_size_x * vector <= 512", []),
        ("n >= block_size_x", []),
        ("layout in ('row', 'column')", []),
        ("True", []),
        ("block_size_x % 64 == 0", ["block_size_x % 64 == 0"]),
        ("vector>1", ["vector>1"]),
        ("vector >= 1 and vector != 2 and n > 0", ["vector != 2"]),
        ("(vector > 1 and layout == 'row') and vector >= 1", ["vector > 1", "layout == 'row'"]),
        ("vector > 1 and (vector>1)", ["vector > 1"]),
        ("vector < 4 or layout == 'row'", ["vector < 4 or layout == 'row'"]),
        ("4 // (vector - 1) >= 0", ["4 // (vector - 1) >= 0"]),
        ("1 > 2", ["1 > 2"]),
    ],
)
def test_parts_that_hold_for_all_values_they_name_go_and_the_others_stay(restriction, kept):
    assert without_tautologies([restriction], TUNABLES, {"n": 4096}) == kept


def test_a_part_said_twice_stays_once_however_it_is_spelt():
    restrictions = ["vector > 1 and block_size_x > 32", "vector>1", "(block_size_x > 32)", "vector > 2"]
    assert without_tautologies(restrictions, TUNABLES, {}) == ["vector > 1", "block_size_x > 32", "vector > 2"]


def test_what_cannot_be_read_or_names_what_is_not_known_is_kept_for_whoever_refuses_it():
    restrictions = ["vector && 1", "sizeof(float) > 0", "vectr > 0", "vector > 0 or missing", "x" * 600]
    assert without_tautologies(restrictions, TUNABLES, {}) == restrictions


def test_a_part_over_more_combinations_than_are_looked_at_is_kept():
    many = {f"t{i}": list(range(10)) for i in range(5)}
    looked_at = " + ".join(list(many)[:4]) + " >= 0"
    too_many = " + ".join(many) + " >= 0"
    assert 10**4 <= MOST_COMBINATIONS < 10**5
    assert without_tautologies([looked_at, too_many], many, {}) == [too_many]


@given(st.lists(st.lists(COMPARISONS, min_size=1, max_size=3).map(" and ".join), max_size=5))
def test_the_valid_configurations_stay_and_every_part_that_is_kept_excludes_some_combination(restrictions):
    kept = without_tautologies(restrictions, SMALL, {})
    before, after = (SearchSpace(SMALL, texts) for texts in (restrictions, kept))
    assert sorted(map(str, before.configurations())) == sorted(map(str, after.configurations()))
    for part in kept:
        assert SearchSpace(SMALL, [part]).size < 18


@given(st.lists(COMPARISONS, max_size=4))
def test_a_part_that_is_left_out_holds_wherever_it_was_named(restrictions):
    kept = without_tautologies(restrictions, SMALL, {})
    for text in set(restrictions) - set(kept):
        for values in itertools.product(*SMALL.values()):
            assert evaluate(text, dict(zip(SMALL, values, strict=True)))
