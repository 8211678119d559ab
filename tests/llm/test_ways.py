"""Each adapter in each way of asking for a typed reply, and the steps from one to the next."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.llm.fakes import retries
from tests.llm.server import Answer, ModelServer
from tests.llm.wires import ANTHROPIC, OPENAI, OUTPUT, REQUEST, SCHEMA, WIRES, Wire, refused
from tui_tuner.llm import Backend, Chunk, Reply, Stop, Structured
from tui_tuner.llm.errors import (
    BrokenOff,
    ContextTooLong,
    KeyRefused,
    ModelTimedOut,
    RequestRefused,
    ServerFault,
    TransportError,
)
from tui_tuner.llm.streams import BackoffPolicy, Pace, RetryingBackend, complete
from tui_tuner.llm.structured import json_text

GOOD = '{"factor": 4}'
OTHER = '{"factor": 8}'


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    chosen: Wire = request.param
    return chosen


@pytest.fixture
async def backend(wire: Wire, server: ModelServer) -> AsyncIterator[Backend]:
    made = wire.make(server.url)
    yield made
    await made.aclose()


async def reply_to(wire: Wire, server: ModelServer, structured: Structured, answer: Answer) -> Reply:
    """Ask in one way and return the reply."""
    server.answers = [answer]
    backend = wire.make(server.url, structured=structured)
    try:
        return await complete(backend, REQUEST)
    finally:
        await backend.aclose()


def way_of(sent: dict[str, Any]) -> str:
    """How a request asks: with a schema, with a tool, or with words alone."""
    if {"format", "response_format", "output_config"} & sent.keys():
        return "schema"
    return "tools" if sent.get("tools") else "text"


def ways(server: ModelServer) -> list[str]:
    return [way_of(sent) for sent in server.requests]


def last_words(sent: dict[str, Any]) -> str:
    return str(sent["messages"][-1]["content"])


# Each way


@pytest.mark.parametrize("structured", ["schema", "tools", "text"])
async def test_the_setting_decides_how_is_asked_and_nothing_of_the_other_ways_is_sent(
    wire: Wire, server: ModelServer, structured: Structured
) -> None:
    call = wire.call(0, "answer", GOOD)

    reply = await reply_to(wire, server, structured, wire.says(call) if structured == "tools" else wire.good(GOOD))

    assert ways(server) == [structured]
    assert (reply.text, reply.stop, reply.notice) == (GOOD, Stop.COMPLETE, "")
    assert reply.usage.output == OUTPUT
    if structured != "tools":
        assert not server.requests[0].get("tools")


@pytest.mark.parametrize("structured", ["auto", "schema", "tools", "text", "fenced"])
async def test_a_request_for_free_text_is_asked_as_it_is_whatever_the_setting(
    wire: Wire, server: ModelServer, structured: Structured
) -> None:
    server.answers = [wire.good("hello")]
    backend = wire.make(server.url, structured=structured)

    await complete(backend, replace(REQUEST, schema=None))
    await backend.aclose()

    assert ways(server) == ["text"]
    assert last_words(server.requests[0]) == REQUEST.messages[-1].content


async def test_as_text_the_schema_stands_behind_the_last_message_and_the_fenced_reply_is_read(
    wire: Wire, server: ModelServer
) -> None:
    reply = await reply_to(wire, server, "text", wire.good("So:\n```json\n", GOOD, "\n```\n"))

    assert json.dumps(SCHEMA) in last_words(server.requests[0])
    assert json_text(reply.text) == GOOD


async def test_as_fenced_code_is_asked_for_in_a_block_and_the_rest_as_json_without_it(
    wire: Wire, server: ModelServer
) -> None:
    rewrite = {
        "properties": {"summary": {"type": "string"}, "code": {"type": "string"}},
        "required": ["summary", "code"],
    }
    server.answers = [wire.good("```\nint x;\n```\n{}"), wire.good(GOOD)]
    backend = wire.make(server.url, structured="fenced")

    await complete(backend, replace(REQUEST, schema=rewrite))
    await complete(backend, REQUEST)
    await backend.aclose()

    with_code, without = server.requests
    assert ways(server) == ["text", "text"]
    assert "First the whole `code` in one fenced block" in last_words(with_code)
    assert '{"properties": {"summary": {"type": "string"}}, "required": ["summary"]}' in last_words(with_code)
    assert json.dumps(SCHEMA) in last_words(without)
    assert "fenced" not in last_words(without)


async def test_the_tool_has_the_schema_as_its_parameters_and_the_prompt_names_it(
    wire: Wire, server: ModelServer
) -> None:
    await reply_to(wire, server, "tools", wire.says(wire.call(0, "answer", GOOD)))

    (tool,) = server.requests[0]["tools"]
    sent = tool.get("function", tool)
    parameters = sent.get("parameters", sent.get("input_schema"))
    assert sent["name"] == "answer"
    assert parameters["properties"] == SCHEMA["properties"]
    assert parameters["required"] == ["factor"]
    assert "`answer`" in last_words(server.requests[0])


async def test_the_model_is_made_to_call_the_tool_where_the_provider_can(wire: Wire, server: ModelServer) -> None:
    await reply_to(wire, server, "tools", wire.says(wire.call(0, "answer", GOOD)))

    forced = {
        "ollama": None,
        "openai": "required",
        "anthropic": {"type": "tool", "name": "answer", "disable_parallel_tool_use": True},
    }
    assert server.requests[0].get("tool_choice") == forced[wire.name]


async def test_a_tool_of_which_the_wire_keeps_only_a_part_is_told_in_words_as_well(
    wire: Wire, server: ModelServer
) -> None:
    await reply_to(wire, server, "tools", wire.says(wire.call(0, "answer", GOOD)))

    assert (json.dumps(SCHEMA) in last_words(server.requests[0])) == (wire.name != "anthropic")


# Calls


async def test_arguments_are_the_text_and_grow_on_the_screen_piece_by_piece(wire: Wire, server: ModelServer) -> None:
    server.answers = [wire.says(wire.call(0, "answer", '{"fac', 'tor": ', "4}"))]
    backend = wire.make(server.url, structured="tools")
    chunks: list[Chunk] = []

    reply = await complete(backend, REQUEST, chunks.append)
    await backend.aclose()

    assert reply.text == GOOD
    # Ollama sends calls whole.
    assert [chunk.text for chunk in chunks if chunk.text] == (
        [GOOD] if wire.name == "ollama" else ['{"fac', 'tor": ', "4}"]
    )


async def test_prose_instead_of_the_call_is_the_text(wire: Wire, server: ModelServer) -> None:
    prose = ("I answer:\n```json\n", GOOD, "\n```")

    reply = await reply_to(wire, server, "tools", wire.says(*prose, stop=wire.complete))

    assert reply.text == "".join(prose)
    assert json_text(reply.text) == GOOD


@pytest.mark.parametrize("prose", ["Four it is.", f"Not this:\n```json\n{OTHER}\n```\nbut:", f"Rather than {OTHER}:"])
async def test_prose_before_the_call_does_not_hide_the_call(wire: Wire, server: ModelServer, prose: str) -> None:
    reply = await reply_to(wire, server, "tools", wire.says(prose, wire.call(0, "answer", GOOD)))

    assert reply.text.startswith(prose)
    assert json_text(reply.text) == GOOD


async def test_prose_after_the_call_is_shown_and_not_read(wire: Wire, server: ModelServer) -> None:
    reply = await reply_to(wire, server, "tools", wire.says(wire.call(0, "answer", GOOD), f"Or {OTHER}?"))

    assert (reply.text, reply.thinking) == (GOOD, f"Or {OTHER}?")


async def test_of_several_calls_the_first_counts_and_the_others_are_shown(wire: Wire, server: ModelServer) -> None:
    calls = (wire.call(0, "answer", '{"factor"', ": 4}"), wire.call(1, "answer", '{"factor"', ": 8}"))

    reply = await reply_to(wire, server, "tools", wire.says(*calls))

    assert (reply.text, reply.thinking) == (GOOD, OTHER)


async def test_a_call_of_another_tool_is_shown_and_is_no_answer(wire: Wire, server: ModelServer) -> None:
    reply = await reply_to(wire, server, "tools", wire.says(wire.call(0, "run_shell", OTHER)))

    assert (reply.text, reply.thinking, reply.stop) == ("", OTHER, Stop.COMPLETE)


async def test_a_call_of_another_tool_does_not_stand_in_the_way_of_ours(wire: Wire, server: ModelServer) -> None:
    calls = (wire.call(0, "run_shell", OTHER), wire.call(1, "answer", GOOD))

    reply = await reply_to(wire, server, "tools", wire.says(*calls))

    assert (reply.text, reply.thinking) == (GOOD, OTHER)


async def test_a_call_after_prose_that_is_json_itself_is_not_read_a_second_time(
    wire: Wire, server: ModelServer
) -> None:
    reply = await reply_to(wire, server, "tools", wire.says("\n", GOOD, wire.call(0, "answer", OTHER)))

    assert (reply.text.strip(), reply.thinking) == (GOOD, OTHER)


async def test_a_reply_cut_within_the_arguments_says_so(wire: Wire, server: ModelServer) -> None:
    # Ollama holds a call back that is not whole.
    cut = ("I would",) if wire.name == "ollama" else (wire.call(0, "answer", '{"fac'),)

    reply = await reply_to(wire, server, "tools", wire.says(*cut, stop=wire.length))

    assert reply.stop is Stop.LENGTH
    assert reply.text in ("I would", '{"fac')


@pytest.mark.slow
async def test_a_stream_that_breaks_off_within_a_call_is_no_reply_and_is_booked(
    wire: Wire, server: ModelServer
) -> None:
    pieces = (*wire.start, *wire.call(0, "answer", GOOD))

    with pytest.raises(BrokenOff) as caught:
        await reply_to(wire, server, "tools", Answer(pieces, end="cut"))

    assert caught.value.usage is not None
    assert caught.value.usage.output > 0


@pytest.mark.slow
async def test_silence_within_a_call_times_out(wire: Wire, server: ModelServer) -> None:
    server.answers = [Answer((*wire.start, *wire.call(0, "answer", GOOD)), end="stall")]
    backend = wire.make(server.url, Pace(100, 0.2), structured="tools")

    with pytest.raises(ModelTimedOut):
        await complete(backend, REQUEST)
    await backend.aclose()


@pytest.mark.parametrize("structured", ["schema", "tools", "text"])
async def test_thoughts_in_the_words_are_kept_apart_in_each_way(
    wire: Wire, server: ModelServer, structured: Structured
) -> None:
    thought = f"<think>maybe {OTHER}</think>\n"
    said = [thought, wire.call(0, "answer", GOOD)] if structured == "tools" else [thought, GOOD]

    reply = await reply_to(
        wire, server, structured, wire.says(*said, stop=wire.called if structured == "tools" else wire.complete)
    )

    assert reply.thinking == f"maybe {OTHER}"
    assert json_text(reply.text) == GOOD


# Steps


async def test_auto_asks_with_the_schema_and_stays_there_while_it_is_taken(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [wire.good(GOOD)]

    replies = [await complete(backend, REQUEST) for _ in range(2)]

    assert ways(server) == ["schema", "schema"]
    assert [reply.notice for reply in replies] == ["", ""]


async def test_a_refused_schema_leads_to_tools_at_once_for_good_and_is_told_once(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    called = wire.says(wire.call(0, "answer", GOOD))
    server.answers = [wire.no_schema, called]

    replies = [await complete(backend, REQUEST) for _ in range(3)]

    assert ways(server) == ["schema", "tools", "tools", "tools"]
    assert [reply.text for reply in replies] == [GOOD] * 3
    assert "as tool calls" in replies[0].notice
    assert "status 400" in replies[0].notice
    assert [reply.notice for reply in replies[1:]] == ["", ""]


async def test_refused_tools_lead_to_text_with_one_notice_for_both_steps(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    tools = [wire.no_tools] * (1 if wire.no_force is None else 2)
    server.answers = [wire.no_schema, *tools, wire.good(GOOD)]

    replies = [await complete(backend, REQUEST) for _ in range(2)]

    assert ways(server) == ["schema", *("tools" for _ in tools), "text", "text"]
    assert "as text" in replies[0].notice
    assert replies[1].notice == ""


@pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC], indirect=True, ids=lambda wire: wire.name)
async def test_where_a_model_cannot_be_made_to_call_the_tool_it_is_offered_without_a_word_to_the_user(
    wire: Wire, server: ModelServer
) -> None:
    assert wire.no_force is not None
    server.answers = [wire.no_force, wire.says(wire.call(0, "answer", GOOD))]
    backend = wire.make(server.url, structured="tools")

    replies = [await complete(backend, REQUEST) for _ in range(2)]
    await backend.aclose()

    choices = [sent["tool_choice"] for sent in server.requests]
    assert [choice if isinstance(choice, str) else choice["type"] for choice in choices[1:]] == ["auto", "auto"]
    assert ways(server) == ["tools"] * 3
    assert [reply.notice for reply in replies] == ["", ""]


@pytest.mark.parametrize("structured", ["schema", "tools"])
async def test_a_way_that_the_user_chose_is_not_left(wire: Wire, server: ModelServer, structured: Structured) -> None:
    with pytest.raises(RequestRefused):
        await reply_to(wire, server, structured, wire.no_schema if structured == "schema" else wire.no_tools)

    assert set(ways(server)) == {structured}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (refused("The model `gpt-tools` does not exist", 404), RequestRefused),
        (refused("'m' does not support thinking"), RequestRefused),
        (refused("Unsupported value: 'temperature' does not support 0.5 with this model."), RequestRefused),
        (
            refused("maximum context length is 8192 tokens: 9000 in messages, 400 in tools, response_format"),
            ContextTooLong,
        ),
        (refused("no access to response_format with this key", 401), KeyRefused),
        (refused("response_format needs a tier with tools", 403), KeyRefused),
        (refused("the worker for json_schema and tools died", 500), ServerFault),
    ],
)
async def test_any_other_refusal_is_an_error_and_no_step(
    wire: Wire, server: ModelServer, backend: Backend, answer: Answer, expected: type[TransportError]
) -> None:
    server.answers = [answer, wire.good(GOOD)]

    with pytest.raises(TransportError) as caught:
        await complete(backend, REQUEST)
    reply = await complete(backend, REQUEST)

    assert type(caught.value) is expected
    assert ways(server) == ["schema", "schema"]
    assert reply.notice == ""


async def test_a_refusal_of_tools_is_no_reason_to_leave_the_schema(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [wire.no_tools, wire.good(GOOD)]

    with pytest.raises(RequestRefused):
        await complete(backend, REQUEST)

    assert ways(server) == ["schema"]


async def test_a_step_that_led_to_no_reply_is_not_kept(wire: Wire, server: ModelServer, backend: Backend) -> None:
    server.answers = [wire.no_schema, refused("no such model", 404), wire.good(GOOD)]

    with pytest.raises(RequestRefused, match="no such model"):
        await complete(backend, REQUEST)
    reply = await complete(backend, REQUEST)

    assert ways(server) == ["schema", "tools", "schema"]
    assert reply.notice == ""


async def test_the_notice_waits_for_a_reply_that_is_whole(wire: Wire, server: ModelServer, backend: Backend) -> None:
    call = wire.call(0, "answer", GOOD)
    server.answers = [wire.no_schema, Answer((*wire.start, *call), end="cut"), wire.says(call)]

    with pytest.raises(BrokenOff):
        await complete(backend, REQUEST)
    reply = await complete(backend, REQUEST)

    assert ways(server) == ["schema", "tools", "tools"]
    assert "as tool calls" in reply.notice


async def test_for_the_retries_the_steps_are_one_call(
    wire: Wire, server: ModelServer, backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [wire.no_schema, Answer(("{}",), 500), wire.no_schema, wire.says(wire.call(0, "answer", GOOD))]

    reply = await complete(RetryingBackend(backend, BackoffPolicy(base_s=0.001)), REQUEST)

    assert [(told["attempt"], told["of"]) for told in retries(caplog)] == [(1, 3)]
    assert ways(server) == ["schema", "tools", "schema", "tools"]
    assert (reply.text, bool(reply.notice)) == (GOOD, True)
