from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_tuner.problem.contradiction import MOST_COMBINATIONS, why_empty, without_tautologies
from tui_tuner.problem.expressions import ExpressionError, conjuncts, evaluate
from tui_tuner.problem.space import SearchSpace

TUNABLES = {"block_size_x": [16, 32, 64], "block_size_y": [1, 2, 4], "vector": [1, 2], "layout": ["row", "column"]}


@pytest.mark.parametrize(
    ("restriction", "why"),
    [
        ("block_size_x % 48 == 0", "'block_size_x % 48 == 0' holds for none of block_size_x = 16, 32, 64"),
        (
            "block_size_x * vector > n",
            "'block_size_x * vector > n' holds for none of block_size_x = 16, 32, 64 and vector = 1, 2 with n = 4096",
        ),
        ("layout == 'tiled'", "'layout == 'tiled'' holds for none of layout = 'row', 'column'"),
        ("32 // (vector - 1) > 32", "'32 // (vector - 1) > 32' holds for none of vector = 1, 2"),
        ("vector > 1 and (vector < 3 and n > 5000)", "'n > 5000' does not hold with n = 4096"),
        ("1 > 2", "'1 > 2' does not hold"),
    ],
)
def test_one_restriction_that_nothing_satisfies_is_quoted_with_the_values_it_names(restriction, why):
    others = ["block_size_x >= 16", "block_size_y < vector", "block_size_y > 0 or vector == 2"]
    assert why_empty(TUNABLES, [*others, restriction], sizes={"n": 4096}) == why


def test_a_long_list_of_values_is_cut_but_shows_its_last():
    assert why_empty({"tile": list(range(100))}, ["tile < 0"]) == (
        "'tile < 0' holds for none of tile = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..., 99"
    )


def test_blocks_that_are_all_too_large_for_the_device_are_told_with_the_limit_and_the_block_size():
    wide = {"block_size_x": [2048, 4096], "tile": [1, 2]}
    assert why_empty(wide, ["tile > 0"], max_threads=1024) == (
        "the limit of 1024 threads in a block of (block_size_x) holds for none of block_size_x = 2048, 4096"
    )
    assert why_empty({"tile": [16, 32]}, max_threads=1024, block_size=["tile * 8", 16]) == (
        "the limit of 1024 threads in a block of (tile * 8, 16) holds for none of tile = 16, 32"
    )


def test_restrictions_that_contradict_each_other_are_told_without_those_that_have_no_part_in_it():
    restrictions = [
        "layout == 'row' or vector == 2",
        "block_size_x > 16 and vector < 3",
        "block_size_x * block_size_y <= 64",
        "block_size_y > 2",
        "block_size_x % 16 == 0",
    ]
    assert why_empty(TUNABLES, restrictions, max_threads=1024) == (
        "'block_size_x > 16', 'block_size_x * block_size_y <= 64' and 'block_size_y > 2' contradict each other: "
        "no combination of block_size_x = 16, 32, 64 and block_size_y = 1, 2, 4 satisfies them all"
    )


def test_the_thread_limit_is_named_where_it_is_part_of_the_contradiction_and_only_there():
    restrictions = ["block_size_x >= n", "block_size_y == 4"]
    assert why_empty(TUNABLES, restrictions, sizes={"n": 64}, max_threads=128) == (
        "'block_size_x >= n', 'block_size_y == 4' and the limit of 128 threads in a block of "
        "(block_size_x, block_size_y) contradict each other: no combination of "
        "block_size_x = 16, 32, 64 and block_size_y = 1, 2, 4 with n = 64 satisfies them all"
    )
    assert "limit" not in why_empty(TUNABLES, ["block_size_x > 32", "block_size_x < 64"], max_threads=32)


def test_of_several_reasons_the_simplest_is_told():
    impossible = "block_size_x * block_size_y * vector > 512"
    involved = ["block_size_x * block_size_y * vector > 256", "block_size_x * block_size_y * vector < 64"]
    plain = ["block_size_x > 32", "block_size_x < 64"]
    assert why_empty(TUNABLES, [*plain, impossible]).startswith(f"'{impossible}' holds for none")
    assert why_empty(TUNABLES, [*involved, *plain]).startswith(f"'{plain[0]}' and '{plain[1]}' contradict")
    narrow = why_empty(TUNABLES, [*involved, "block_size_x > 16"], max_threads=16, block_size=["block_size_x"])
    assert narrow.startswith(f"'{involved[0]}' and '{involved[1]}' contradict")


def test_a_tunable_without_values_is_named():
    assert why_empty({"block_size_x": [32], "vector": []}, ["block_size_x > 64"]) == "'vector' has no values"


def test_a_space_with_valid_configurations_and_an_unreadable_restriction_are_refused():
    with pytest.raises(ValueError, match="not empty"):
        why_empty(TUNABLES, ["vector > 1"], max_threads=1024)
    with pytest.raises(ExpressionError, match="did you mean 'vector'"):
        why_empty(TUNABLES, ["vectr > 1"])


SMALL = {"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2]}
COMPARISONS = st.builds(
    "{} {} {}".format,
    st.sampled_from(["a", "b", "c", "a + b", "b * c", "6 // (a - 1)"]),
    st.sampled_from(["<", "==", ">=", "!="]),
    st.sampled_from(["a", "b", "c", "1", "2", "4"]),
)


@pytest.mark.slow
@given(st.lists(st.lists(COMPARISONS, min_size=1, max_size=3).map(" and ".join), min_size=1, max_size=6))
def test_what_is_quoted_leaves_nothing_and_without_any_one_of_it_something_is_left(restrictions):
    assume(SearchSpace(SMALL, restrictions).is_empty)
    quoted = re.findall(r"'(.*?)'", why_empty(SMALL, restrictions))
    assert set(quoted) <= {part for restriction in restrictions for part in conjuncts(restriction)}
    assert SearchSpace(SMALL, quoted).is_empty
    for fewer in itertools.combinations(quoted, len(quoted) - 1):
        assert not SearchSpace(SMALL, fewer).is_empty


@pytest.mark.timeout(20)
def test_a_contradiction_among_a_million_combinations_is_found_quickly():
    tunables = {f"t{i}": list(range(1, 11)) for i in range(6)}
    linked = [f"t{i} % t{i + 1} == 0" for i in range(5)]
    harmless = ["t0 + t1 + t2 + t3 + t4 + t5 >= 6", "t0 * t5 <= 100"]
    why = why_empty(tunables, [*harmless, *linked, "t0 == 7", "t5 > 1 and t5 != 7"], max_threads=1024)
    assert why.startswith("'t0 % t1 == 0', ")
    assert harmless[0] not in why
    assert harmless[1] not in why


FEW_TUNABLES = {"block_size_x": [32, 64, 128], "vector": [1, 2, 4], "layout": ["row", "column"]}


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
    assert without_tautologies([restriction], FEW_TUNABLES, {"n": 4096}) == kept


def test_a_part_said_twice_stays_once_however_it_is_spelt():
    restrictions = ["vector > 1 and block_size_x > 32", "vector>1", "(block_size_x > 32)", "vector > 2"]
    assert without_tautologies(restrictions, FEW_TUNABLES, {}) == ["vector > 1", "block_size_x > 32", "vector > 2"]


def test_what_cannot_be_read_or_names_what_is_not_known_is_kept_for_whoever_refuses_it():
    restrictions = ["vector && 1", "sizeof(float) > 0", "vectr > 0", "vector > 0 or missing", "x" * 600]
    assert without_tautologies(restrictions, FEW_TUNABLES, {}) == restrictions


def test_a_part_over_more_combinations_than_are_looked_at_is_kept():
    many = {f"t{i}": list(range(10)) for i in range(5)}
    looked_at = " + ".join(list(many)[:4]) + " >= 0"
    too_many = " + ".join(many) + " >= 0"
    assert 10**4 <= MOST_COMBINATIONS < 10**5
    assert without_tautologies([looked_at, too_many], many, {}) == [too_many]


@pytest.mark.slow
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
