from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.problem.space import SearchSpace
from tui_tuner.strategies.round_question import Chooser

SPACE = SearchSpace(
    {"a": [1, 2, 4, 8], "b": [False, True], "c": ["x", "y"], "d": [0.5, 1.5], "held": [7]}, ["a < 8 or b"]
)
BEST = {"a": 1, "b": False, "c": "x", "d": 0.5, "held": 7}


def choosing(*taken: dict[str, object], limit: int = 10) -> Chooser:
    return Chooser(SPACE, BEST, list(taken), limit)


def test_a_valid_proposal_is_taken_as_it_is():
    chooser = choosing()
    assert chooser.take({"a": 2, "b": True, "c": "y", "d": 1.5}) == {"a": 2, "b": True, "c": "y", "d": 1.5, "held": 7}
    assert (chooser.remarks, chooser.proposed, chooser.invalid) == ([], 1, 0)


def test_what_is_left_out_has_the_value_of_the_best():
    assert choosing().take({"a": 4}) == {**BEST, "a": 4}


@pytest.mark.parametrize("value", [2.0, "2"])
def test_a_listed_value_in_other_letters_is_the_listed_one(value):
    chosen = choosing().take({"a": value, "b": "true", "d": "1.5"})
    assert chosen is not None
    assert (type(chosen["a"]), chosen["b"], chosen["d"]) == (int, True, 1.5)


def test_a_restriction_that_is_broken_is_mended_and_told():
    chooser = choosing()
    chosen = chooser.take({"a": 8})
    assert chosen is not None
    assert SPACE.contains(chosen)
    assert chooser.invalid == 1
    assert "breaks the restriction 'a < 8 or b'; measured instead with" in chooser.remarks[0]


def test_what_is_no_value_at_all_counts_as_left_out():
    assert choosing().take({"a": [1], "b": {"no": 1}, "c": None}) == BEST


def test_what_was_measured_or_proposed_before_is_refused_with_the_reason():
    chooser = choosing(BEST)
    assert chooser.take({}) is None
    assert chooser.take({"a": 2}) is not None
    assert chooser.take({"a": 2}) is None
    assert [remark.partition(": ")[2] for remark in chooser.remarks] == ["was proposed or measured before"] * 2


def test_a_repair_is_never_what_is_taken_already():
    everything = list(SPACE.configurations())
    chooser = choosing(*everything)
    assert chooser.take({"a": 8}) is None
    assert chooser.remarks[0].endswith("with b=True it is known, so it was left out")


def test_no_more_than_the_limit_is_taken():
    chooser = choosing(limit=1)
    assert chooser.take({"a": 2}) is not None
    assert chooser.take({"a": 4}) is None
    assert len(chooser.chosen) == 1


def test_more_than_half_invalid_is_flagged():
    chooser = choosing()
    for a in (2, 8, 9):
        chooser.take({"a": a})
    assert chooser.mostly_invalid
    assert not choosing().mostly_invalid


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-20, 20), st.floats(), st.text(max_size=3), st.lists(st.none())
)


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c", "d", "held", "z"]), VALUES), max_size=12))
def test_whatever_is_proposed_the_choice_is_valid_new_and_repeatable(proposals):
    chooser, again = choosing(BEST), choosing(BEST)
    for proposal in proposals:
        chooser.take(proposal)
        again.take(proposal)
    assert chooser.chosen == again.chosen
    assert all(SPACE.contains(configuration) for configuration in chooser.chosen)
    assert BEST not in chooser.chosen
    assert len({repr(configuration) for configuration in chooser.chosen}) == len(chooser.chosen)
