from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.llm.wires import REQUEST
from tui_tuner.errors import ModelError
from tui_tuner.llm import Message, Reply, Request, Stop, Usage
from tui_tuner.llm.replay import ReplayBackend, read_replies
from tui_tuner.llm.streams import complete

OTHER = replace(REQUEST, messages=(Message("user", "And now?"),))
PLAN = Request("plan", (Message("user", "Plan."),))
HEADER = {"journal": 1, "model": "a model"}


def record(file: Path, *dialogue: tuple[Request, Reply | str]) -> None:
    lines: list[object] = [HEADER, {"kind": "device", "key": "d", "elapsed": 0, "result": {}}]
    for request, reply in dialogue:
        whole = Reply(reply, "hm", Stop.COMPLETE, Usage(10, 5, 0.2)) if isinstance(reply, str) else reply
        content = {**asdict(request), "occurrence": 1}
        lines.append({"kind": "ask", "key": "k", "elapsed": 1, "content": content, "result": asdict(whole)})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


async def test_the_same_requests_in_any_order_get_the_same_replies(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    record(file, (REQUEST, "first µ\u2028" * 40), (PLAN, "the plan"), (OTHER, "second"))
    replay = ReplayBackend(file)

    replies = [await complete(replay, request) for request in (OTHER, REQUEST, PLAN)]

    assert [reply.text for reply in replies] == ["second", "first µ\u2028" * 40, "the plan"]
    assert [reply.notice for reply in replies] == ["", "", ""]
    assert replies[0].thinking == "hm"
    assert (replies[0].usage.input, replies[0].usage.output, replies[0].usage.cost) == (10, 5, 0.0)


async def test_a_changed_request_gets_the_next_reply_of_its_purpose_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    record(file, (PLAN, "the plan"), (REQUEST, "first"), (OTHER, "second"))

    reply = await complete(ReplayBackend(file), replace(REQUEST, messages=(Message("user", "changed"),)))

    assert reply.text == "first"
    assert "'one_prompt'" in reply.notice


async def test_the_same_request_asked_twice_gets_both_its_replies_in_order(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    record(file, (REQUEST, "first"), (REQUEST, "second"))
    replay = ReplayBackend(file)

    assert [(await complete(replay, REQUEST)).text for _ in range(2)] == ["first", "second"]


async def test_what_a_session_had_before_it_was_resumed_does_not_come_again(tmp_path: Path) -> None:
    file, had = tmp_path / "journal.jsonl", tmp_path / "resumed.jsonl"
    record(file, (REQUEST, "first"), (REQUEST, "second"))
    record(had, (OTHER, "first"), (PLAN, "second"))
    replay = ReplayBackend(file)

    replay.leave_out(read_replies(had))

    assert (await complete(replay, REQUEST)).text == "second"


async def test_nothing_left_of_a_purpose_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    record(file, (REQUEST, "only"))
    replay = ReplayBackend(file)
    await complete(replay, REQUEST)

    with pytest.raises(ModelError, match=r"for 'one_prompt'(.|\n)*record a longer session"):
        await complete(replay, REQUEST)
    with pytest.raises(ModelError, match=r"for 'plan'(.|\n)*its replies are for one_prompt: take the strategy"):
        await complete(replay, PLAN)


async def test_a_reply_that_was_cut_is_replayed_as_cut(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    record(file, (REQUEST, Reply("half", stop=Stop.LENGTH)))
    assert (await complete(ReplayBackend(file), REQUEST)).stop is Stop.LENGTH


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no recorded session"),
        ("hello\n", "no recorded session"),
        ('{"journal": 9}\n', "version 1"),
        ('{"journal": 1}\n{"kind": "ask", "content": {}, "result": {}}\n', "broken record"),
        ('{"journal": 1}\n{"kind"\n', ":2: broken record"),
    ],
)
def test_what_is_no_journal_is_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "journal.jsonl"
    file.write_text(content)
    with pytest.raises(ModelError, match=said):
        ReplayBackend(file)


async def test_the_directory_of_a_run_stands_for_its_journal(tmp_path: Path) -> None:
    record(tmp_path / "journal.jsonl", (REQUEST, "the reply"))

    replay = ReplayBackend(tmp_path)

    assert replay.name == f"replay:{tmp_path.name}"
    assert (await complete(replay, REQUEST)).text == "the reply"


@pytest.mark.parametrize(("made", "named"), [(False, "gone: "), (True, "gone/journal.jsonl: ")])
def test_what_is_missing_is_named_with_a_way_out(tmp_path: Path, made: bool, named: str) -> None:
    if made:
        (tmp_path / "gone").mkdir()
    with pytest.raises(ModelError) as refused:
        ReplayBackend(tmp_path / "gone")
    said = f"{tmp_path}/{named}no recorded session: no run is there\n  `tuner-tui runs` lists the runs"
    assert str(refused.value) == said
