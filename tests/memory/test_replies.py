"""Cached replies in the file, and the configurations that they proposed for a similar space."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.memory.entries import H200, sample
from tui_tuner.llm import Message, Reply, Request, Stop, Usage
from tui_tuner.llm.typed import schema_of
from tui_tuner.memory import MOST_PROPOSED, PROPOSING, KeptReplies, Memory
from tui_tuner.memory.sessions import Database
from tui_tuner.problem.model import Value
from tui_tuner.strategies.round_question import FIRST, MORE, reply_type

TUNABLES: dict[str, list[Value]] = {"block_size_x": [32, 64, 128], "unroll": [True, False], "layout": ["row", "column"]}
GOOD = {"block_size_x": 64, "unroll": True, "layout": "row", "reason": "wide loads"}


@pytest.fixture
def replies(tmp_path: Path) -> KeptReplies:
    return KeptReplies(Database(tmp_path / "memory.sqlite3"))


def request(*names: str, purpose: str = "first_configurations") -> Request:
    fields = {name: {"type": "string"} for name in (*names, "reason")}
    items = {"type": "object", "properties": fields, "required": list(fields)}
    schema = {"type": "object", "properties": {"configurations": {"type": "array", "items": items}}}
    return Request(purpose, (Message("user", "Which?"),), schema)


def answer(*configurations: Any, around: str = "{}") -> Reply:
    return Reply(around.format(json.dumps({"analysis": "So.", "configurations": configurations})))


def put(replies: KeptReplies, reply: Reply, asked: Request | None = None, key: str = "key") -> None:
    replies.put(key, "scripted", asked or request(*TUNABLES), reply)


def test_a_reply_comes_back_whole(replies: KeptReplies) -> None:
    reply = Reply("text \u2713", "thoughts", Stop.COMPLETE, Usage(10, 5, None, estimated=True))
    put(replies, reply)
    assert replies.get("key") == reply
    assert replies.get("other") is None


def test_replies_are_counted_and_forgotten(replies: KeptReplies) -> None:
    assert replies.count() == (0, 0)
    assert replies.forget() == 0
    put(replies, Reply("x" * 1000))
    put(replies, Reply("y"), key="other")
    count, size = replies.count()
    assert count == 2
    assert 1000 < size < 2000
    assert replies.forget() == 2
    assert replies.get("key") is None


@pytest.mark.parametrize("content", ["{", '{"text": 3}', None, b"\xff"])
def test_a_row_that_cannot_be_read_is_no_reply(replies: KeptReplies, tmp_path: Path, content: object) -> None:
    put(replies, Reply("x"))
    with closing(sqlite3.connect(tmp_path / "memory.sqlite3")) as connection:
        connection.execute("UPDATE replies SET content = coalesce(?, 3)", (content,))
        connection.commit()
    assert replies.get("key") is None
    assert replies.proposed_before(TUNABLES) == []


@pytest.mark.parametrize("purpose", ["first_configurations", "more_configurations"])
@pytest.mark.parametrize("around", ["{}", "<think>hm</think>{}", "Here:\n```json\n{}\n```\n"])
def test_what_was_proposed_for_the_same_tunables_is_found(replies: KeptReplies, purpose: str, around: str) -> None:
    put(replies, answer(GOOD, around=around), request("unroll", "layout", "block_size_x", purpose=purpose))
    assert replies.proposed_before(TUNABLES) == [{"block_size_x": 64, "unroll": True, "layout": "row"}]


def test_the_questions_that_the_rounds_put_are_known_by_their_purpose_and_schema(replies: KeptReplies) -> None:
    assert PROPOSING == (FIRST, MORE)
    for number, purpose in enumerate(PROPOSING):
        asked = Request(purpose, (), schema_of(reply_type(TUNABLES)))
        put(replies, answer({**GOOD, "block_size_x": (32, 128)[number]}), asked, key=purpose)
    assert [found["block_size_x"] for found in replies.proposed_before(TUNABLES)] == [128, 32]


@pytest.mark.parametrize(
    "asked",
    [
        request(*TUNABLES, purpose="plan"),
        request("block_size_x", "unroll"),
        request(*TUNABLES, "tile"),
        Request("first_configurations", (), None),
        Request("first_configurations", (), {"properties": {"configurations": ["no object"]}}),
    ],
)
def test_other_questions_and_other_tunables_propose_nothing(replies: KeptReplies, asked: Request) -> None:
    put(replies, answer(GOOD), asked)
    assert replies.proposed_before(TUNABLES) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {**GOOD, "block_size_x": 48},
        {**GOOD, "block_size_x": True},
        {**GOOD, "unroll": 1},
        {"block_size_x": 64, "unroll": True},
        [64, True, "row"],
        None,
    ],
)
def test_what_is_no_configuration_of_the_space_is_left_out(replies: KeptReplies, wrong: object) -> None:
    put(replies, answer(wrong, GOOD))
    assert replies.proposed_before(TUNABLES) == [{"block_size_x": 64, "unroll": True, "layout": "row"}]


def test_values_as_text_are_those_of_the_space(replies: KeptReplies) -> None:
    put(replies, answer({"block_size_x": "128", "unroll": "false", "layout": "column"}))
    (found,) = replies.proposed_before(TUNABLES)
    assert found == {"block_size_x": 128, "unroll": False, "layout": "column"}
    assert [type(value) for value in found.values()] == [int, bool, str]


@pytest.mark.parametrize("text", ["no JSON", '{"configurations": {}}', "[]", "[" * 100_000])
def test_a_reply_of_another_form_proposes_nothing(replies: KeptReplies, text: str) -> None:
    put(replies, Reply(text))
    assert replies.proposed_before(TUNABLES) == []


def test_there_are_few_of_the_newest_reply_first_and_each_once(replies: KeptReplies) -> None:
    values = [1, 2, 3, 4, 5, 6, 7]
    put(replies, answer(*({"x": value} for value in (1, 2, 3))), request("x"), key="older")
    put(replies, answer(*({"x": value} for value in (7, 7, 1, 6, 5))), request("x"), key="newer")
    assert replies.proposed_before({"x": values}) == [{"x": x} for x in (7, 1, 6, 5, 2)]
    assert len(replies.proposed_before({"x": values})) == MOST_PROPOSED
    assert replies.proposed_before({"x": values}, lambda c: c["x"] in (2, 3)) == [{"x": 2}, {"x": 3}]
    assert replies.proposed_before({}) == []


async def test_they_join_what_is_recalled_if_they_are_valid(replies: KeptReplies, tmp_path: Path) -> None:
    database = Database(tmp_path / "memory.sqlite3")
    proposed = ({"block_size_x": 256, "block_size_y": 32}, {"block_size_x": 32, "block_size_y": 2})
    put(replies, answer(*proposed), request("block_size_x", "block_size_y"))
    found = await Memory(database, sessions=True, replies=True).recall(sample("matmul"), H200)
    assert (found.lines, found.seeds) == ([], [proposed[1]])
    without = await Memory(database, sessions=True, replies=False).recall(sample("matmul"), H200)
    assert without.seeds == []
