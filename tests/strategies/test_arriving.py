"""Configurations are known as soon as they have arrived, whatever else the reply is cut by."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.strategies.round_question import ArrivingObjects

REPLY = json.dumps({"analysis": 'a "[" and a {', "configurations": [{"a": 1, "s": "}]"}, {"a": 2, "s": '\\"'}]})


def heard(pieces: list[str]) -> list[list[dict[str, object]]]:
    arriving = ArrivingObjects()
    return [arriving.feed(piece) for piece in pieces]


def test_an_object_is_found_with_the_piece_that_completes_it():
    text = '{"configurations": [{"a": 1}, {"a"'
    assert heard([text, ": 2", "}", "]}"]) == [[{"a": 1}], [], [{"a": 2}], []]


@given(st.lists(st.integers(1, 7), min_size=1, max_size=200))
def test_any_division_into_pieces_gives_the_same_objects(lengths):
    pieces, rest = [], REPLY
    for length in lengths:
        pieces.append(rest[:length])
        rest = rest[length:]
    found = [one for some in heard([*pieces, rest]) for one in some]
    assert found == json.loads(REPLY)["configurations"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would rather talk.",
        '{"configurations": "none"}',
        '{"configurations": [1, 2]}',
        '{"configurations": [{"a": oh]}',
        '{"other": [{"a": 1}]}',
    ],
)
def test_what_is_no_such_reply_gives_nothing(text):
    assert heard([text]) == [[]]


def test_what_follows_a_broken_object_is_not_read():
    assert heard(['{"configurations": [{"a": 1}, {"a": }, {"a": 3}]}']) == [[{"a": 1}]]


def test_a_draft_among_thoughts_is_not_read():
    draft = '<think>{"configurations": [{"a": 0}]}</think>'
    assert heard([draft, '{"configurations": [{"a": 1}]}'])[-1] == [{"a": 1}]
    assert heard([draft[:30]]) == [[]]


def test_a_fence_around_the_reply_does_not_matter():
    assert heard(["```json\n", REPLY])[-1] == json.loads(REPLY)["configurations"]
