"""Which evaluation of a round is owed to which proposal of a reply."""

from __future__ import annotations

import json

import pytest

from tui_tuner.lab.attribution import assigned, proposals_in
from tui_tuner.problem.model import Configuration


def one(x: int, y: int, z: int) -> Configuration:
    return {"x": x, "y": y, "z": z}


A, B, C, D = one(1, 1, 1), one(2, 2, 2), one(4, 4, 4), one(8, 8, 8)


def test_what_was_proposed_and_evaluated_is_the_replys():
    found = assigned([A, B], [A, B], [])
    assert found.origins == ["reply", "reply"]
    assert found.choices.model_dump() == {
        "proposed": 2,
        "as_proposed": 2,
        "repaired": 0,
        "repeated": 0,
        "unmeasured": 0,
    }


def test_seeds_before_the_batch_are_nobodys():
    assert assigned([A, B], [C, D, A, B], []).origins == [None, None, "reply", "reply"]


def test_an_invalid_proposal_is_matched_with_the_likeness_in_its_place():
    found = assigned([A, one(2, 2, 99), C], [A, B, C], [])
    assert found.origins == ["reply", "repair", "reply"]
    assert (found.choices.as_proposed, found.choices.repaired) == (2, 1)


def test_a_seed_is_not_taken_for_the_repair_of_a_proposal_that_came_to_nothing():
    found = assigned([A, one(2, 2, 99), C], [one(2, 2, 4), A, C], [])
    assert found.origins == [None, "reply", "reply"]
    assert found.choices.unmeasured == 1


def test_too_unlike_is_no_repair():
    found = assigned([one(2, 77, 99)], [one(2, 4, 8)], [])
    assert found.origins == [None]
    assert found.choices.unmeasured == 1


def test_what_was_known_or_proposed_twice_is_repeated():
    found = assigned([A, B, B], [B], [A])
    assert found.origins == ["reply"]
    assert (found.choices.repeated, found.choices.unmeasured) == (2, 0)


def test_values_in_other_letters_and_left_out_values_are_understood():
    assert assigned([{"x": "1", "y": 1.0, "reason": "small"}], [A], []).origins == ["reply"]
    assert assigned([{"x": 1, "y": None}], [one(1, 5, 5)], []).origins == ["reply"]
    assert assigned([{"reason": "none at all"}], [A], []).origins == [None]


def test_proposals_are_read_out_of_a_reply():
    text = json.dumps({"analysis": "wide", "configurations": [{"reason": "r", **A}, "odd", B]})
    assert proposals_in(f"Here:\n```json\n{text}\n```") == [{"reason": "r", **A}, B]


@pytest.mark.parametrize("text", ["", "no JSON", "[1, 2]", '{"configurations": 3}', '{"other": []}', "{"])
def test_a_reply_that_proposes_nothing_readable_has_no_proposals(text):
    assert proposals_in(text) == []
