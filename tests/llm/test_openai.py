from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.llm.server import Answer, ModelServer
from tests.llm.wires import (
    INPUT,
    KEY,
    QUICK,
    REQUEST,
    SCHEMA,
    make_openai,
    openai_call,
    openai_chunk,
    openai_end,
    openai_usage,
    sse,
)
from tests.llm.wires import (
    OPENAI as WIRE,
)
from tui_tuner.errors import ModelError
from tui_tuner.llm import ModelSettings, Reply, Stop
from tui_tuner.llm.errors import RequestRefused
from tui_tuner.llm.openai import OPENAI, OPENROUTER, Dialect, OpenAIBackend
from tui_tuner.llm.streams import complete

DONE = "data: [DONE]\n\n"


async def reply_to(server: ModelServer, **options: Any) -> Reply:
    backend = make_openai(server.url, QUICK, **options)
    try:
        return await complete(backend, REQUEST)
    finally:
        await backend.aclose()


async def test_the_schema_is_sent_strictly_with_the_key_in_the_header_and_nowhere_else(server: ModelServer) -> None:
    server.answers = [WIRE.good("{}")]

    await reply_to(server)

    sent = server.requests[0]
    schema = {"name": "one_prompt", "schema": SCHEMA, "strict": True}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": schema}
    assert sent["stream_options"] == {"include_usage": True}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(sent)


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
async def test_the_reply_limit_has_the_name_that_the_provider_knows(server: ModelServer, limit: str) -> None:
    server.answers = [WIRE.good("{}")]

    await reply_to(server, limit=limit)

    assert {name for name in server.requests[0] if name.startswith("max")} == {limit}


def test_openais_own_models_get_the_newer_limit_and_all_other_servers_the_older() -> None:
    assert OPENAI.limit == "max_completion_tokens"
    assert {OPENROUTER.limit, Dialect("openai", "http://localhost:8000/v1").limit} == {"max_tokens"}


async def test_a_refusal_is_shown_and_marked_and_never_parsed(server: ModelServer) -> None:
    server.answers = [
        Answer((openai_chunk({"refusal": "I cannot "}), openai_chunk({"refusal": "help."}), *openai_end("stop")))
    ]

    reply = await reply_to(server)

    assert (reply.text, reply.stop) == ("I cannot help.", Stop.REFUSED)


async def test_filtered_content_counts_as_refused(server: ModelServer) -> None:
    server.answers = [WIRE.good("{", stop="content_filter")]

    assert (await reply_to(server)).stop is Stop.REFUSED


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_in_either_spelling_is_thinking(server: ModelServer, field: str) -> None:
    server.answers = [
        Answer((openai_chunk({"role": "assistant", field: "hm"}), openai_chunk({"content": "{}"}), *openai_end("stop")))
    ]

    reply = await reply_to(server)

    assert (reply.text, reply.thinking) == ("{}", "hm")


async def test_calls_that_a_server_puts_at_one_place_are_told_apart_by_their_identities(server: ModelServer) -> None:
    calls = (openai_call(0, "answer", "{}", identity="a"), openai_call(0, "answer", '{"b": 1}', identity="b"))
    server.answers = [WIRE.says(*calls)]

    reply = await reply_to(server, structured="tools")

    assert (reply.text, reply.thinking) == ("{}", '{"b": 1}')


async def test_calls_that_grow_in_turns_are_not_mixed(server: ModelServer) -> None:
    first, second = openai_call(0, "answer", "{", "}"), openai_call(1, "answer", "[", "]")
    server.answers = [WIRE.says(*((one, other) for one, other in zip(first, second, strict=True)))]

    reply = await reply_to(server, structured="tools")

    assert (reply.text, reply.thinking) == ("{}", "[]")


@pytest.mark.parametrize("head", [{"id": "invented"}, {"id": ""}, {"id": "call_0", "function": {"name": "answer"}}])
async def test_a_head_that_a_server_repeats_or_invents_for_each_piece_begins_no_new_call(
    server: ModelServer, head: dict[str, Any]
) -> None:
    function = {**head.get("function", {}), "arguments": "}"}
    piece = openai_chunk({"tool_calls": [{"index": 0, **head, "function": function}]})
    server.answers = [WIRE.says((*openai_call(0, "answer", "{"), piece))]

    assert (await reply_to(server, structured="tools")).text == "{}"


async def test_a_refusal_inside_the_stream_leads_to_the_next_way_only_before_the_first_word(
    server: ModelServer,
) -> None:
    error = sse({"error": {"message": "Failed to parse grammar", "code": 400}})
    server.answers = [Answer((error,)), WIRE.says(openai_call(0, "answer", "{}"))]
    assert (await reply_to(server)).text == "{}"

    server.answers = [Answer((openai_chunk({"content": "{"}), error)), WIRE.good("{}")]
    with pytest.raises(RequestRefused):
        await reply_to(server)


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
async def test_a_call_is_whole_whichever_of_its_stop_reasons_a_server_gives(server: ModelServer, reason: str) -> None:
    server.answers = [WIRE.says(openai_call(0, "answer", "{}"), stop=reason)]

    assert (await reply_to(server, structured="tools")).stop is Stop.COMPLETE


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_beside_a_call_is_thinking(server: ModelServer, field: str) -> None:
    server.answers = [WIRE.says((openai_chunk({field: '{"draft": 1}'}),), openai_call(0, "answer", "{}"))]

    reply = await reply_to(server, structured="tools")

    assert (reply.text, reply.thinking) == ("{}", '{"draft": 1}')


async def test_what_openrouter_charged_is_the_cost_whatever_our_table_says(server: ModelServer) -> None:
    words = (openai_chunk({"content": "{}"}), openai_chunk({}, "stop"))
    server.answers = [Answer((*words, openai_usage(), openai_usage(cost=0.0123), DONE))]

    usage = (await reply_to(server)).usage

    assert usage.cost == 0.0123
    assert usage.input == INPUT


async def test_cached_prompt_tokens_are_part_of_the_prompt_and_cheaper(server: ModelServer) -> None:
    words = (openai_chunk({"content": "{}"}), openai_chunk({}, "stop"))
    counts = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    server.answers = [Answer((*words, openai_usage(**counts), DONE))]

    usage = (await reply_to(server, model="gpt-4.1", own=True)).usage

    assert usage.input == 1000
    assert usage.cost == pytest.approx((600 * 2 + 400 * 0.5 + 100 * 8) / 1e6)


async def test_a_stream_without_a_usage_chunk_is_booked_by_estimate(server: ModelServer) -> None:
    server.answers = [Answer((openai_chunk({"content": "x" * 300}), openai_chunk({}, "stop"), DONE))]

    usage = (await reply_to(server)).usage

    assert usage.estimated
    assert usage.output == 100


def test_a_server_of_the_users_own_is_part_of_the_name() -> None:
    assert Dialect("openai", "http://localhost:8000/v1").name("qwen") == "openai:qwen@localhost:8000"
    assert OPENAI.name("gpt-4.1") == "openai:gpt-4.1"


def test_a_missing_package_is_named_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)

    with pytest.raises(ModelError, match=r"pip install 'tuner-tui\[openai\]'"):
        OpenAIBackend("m", KEY, ModelSettings())
