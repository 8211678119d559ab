from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.llm.fakes import FakeBackend, said
from tests.llm.wires import REQUEST
from tui_tuner.errors import ModelError
from tui_tuner.llm.base import Message, Reply, Request, Stop
from tui_tuner.llm.complete import complete
from tui_tuner.llm.errors import BrokenOff, Site
from tui_tuner.llm.recording import Recorder, request_hash
from tui_tuner.llm.replay import ReplayBackend

OTHER = replace(REQUEST, messages=(Message("user", "And now?"),))
PLAN = Request("plan", (Message("user", "Plan."),))


async def record(file: Path, *dialogue: tuple[Request, str], stop: Stop = Stop.COMPLETE) -> None:
    recorder = Recorder(FakeBackend(*(said(text, "hm", stop) for _, text in dialogue)), file, "matmul.cu")
    for request, _ in dialogue:
        await complete(recorder, request)
    await recorder.aclose()


async def test_a_recorded_session_answers_the_same_requests_in_any_order_with_the_same_replies(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    await record(file, (REQUEST, "first µ\u2028" * 40), (PLAN, "the plan"), (OTHER, "second"))
    replay = ReplayBackend(file)

    replies: list[Reply] = []
    for request in (OTHER, REQUEST, PLAN):
        replies.append(await complete(replay, request))
        assert replay.note == ""

    assert [reply.text for reply in replies] == ["second", "first µ\u2028" * 40, "the plan"]
    assert replies[0].thinking == "hm"
    assert (replies[0].usage.input, replies[0].usage.output, replies[0].usage.cost) == (10, 5, 0.0)


async def test_a_changed_request_gets_the_next_reply_of_its_purpose_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    await record(file, (PLAN, "the plan"), (REQUEST, "first"), (OTHER, "second"))
    replay = ReplayBackend(file)

    reply = await complete(replay, replace(REQUEST, messages=(Message("user", "changed"),)))

    assert reply.text == "first"
    assert "another 'one_prompt' request" in replay.note


async def test_the_same_request_asked_twice_gets_both_its_replies_in_order(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    await record(file, (REQUEST, "first"), (REQUEST, "second"))
    replay = ReplayBackend(file)

    assert [(await complete(replay, REQUEST)).text for _ in range(2)] == ["first", "second"]


async def test_nothing_left_of_a_purpose_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    await record(file, (REQUEST, "only"))
    replay = ReplayBackend(file)
    await complete(replay, REQUEST)

    with pytest.raises(ModelError, match="no reply left for 'one_prompt'"):
        await complete(replay, REQUEST)
    with pytest.raises(ModelError, match="no reply left for 'plan'"):
        await complete(replay, PLAN)


async def test_the_file_has_a_header_and_one_line_a_reply_and_a_later_recorder_continues_it(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    await record(file, (REQUEST, "first"))
    await record(file, (PLAN, "the plan"))

    header, first, second = map(json.loads, file.read_text().splitlines())

    assert (header["recording"], header["model"], header["kernel"]) == (1, "ollama:fake", "matmul.cu")
    assert first["request_hash"] == request_hash(REQUEST)
    assert first["schema"] == REQUEST.schema
    assert first["messages"][0] == {"role": "system", "content": "You tune kernels."}
    assert (second["purpose"], second["reply"], second["thinking"]) == ("plan", "the plan", "hm")


async def test_a_reply_that_broke_off_is_not_recorded_and_a_cut_one_stays_cut(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    broken = Recorder(FakeBackend([*said("half")[:1], BrokenOff("cut", Site("fake", ""))]), file, "k.cu")
    with pytest.raises(BrokenOff):
        await complete(broken, REQUEST)
    await record(file, (PLAN, "cut at its limit"), stop=Stop.LENGTH)

    assert len(file.read_text().splitlines()) == 2
    assert (await complete(ReplayBackend(file), PLAN)).stop is Stop.LENGTH


def test_the_hash_depends_on_purpose_messages_and_schema_and_on_nothing_else() -> None:
    same = replace(REQUEST, max_tokens=1, schema=dict(reversed((REQUEST.schema or {}).items())))
    changed = [replace(REQUEST, purpose="x"), OTHER, replace(REQUEST, schema=None)]

    assert request_hash(same) == request_hash(REQUEST)
    assert len({request_hash(request) for request in (*changed, REQUEST)}) == 4


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", None),
        ("not json", None),
        ("[]", None),
        ('{"recording": 2}', 1),
        ('{"recording": 1}\n{"purpose": "plan"}', 2),
        ('{"recording": 1}\n\n{"broken', 3),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_place(tmp_path: Path, content: str, line: int | None) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text(content)

    with pytest.raises(ModelError) as caught:
        ReplayBackend(file)

    assert caught.value.file == file
    assert caught.value.line == line


def test_a_missing_recording_is_the_users_to_mend(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        ReplayBackend(tmp_path / "none.jsonl")
