from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from tests.llm.server import Answer, ModelServer
from tests.llm.wires import (
    ANTHROPIC as WIRE,
)
from tests.llm.wires import (
    KEY,
    OUTPUT,
    REQUEST,
    SCHEMA,
    anthropic_call,
    anthropic_end,
    anthropic_event,
    anthropic_start,
    anthropic_words,
    make_anthropic,
)
from tui_tuner.errors import ModelError
from tui_tuner.llm import ModelSettings, Reply, Request, Stop, Structured
from tui_tuner.llm.anthropic import AnthropicBackend
from tui_tuner.llm.errors import RateLimited
from tui_tuner.llm.streams import complete


async def reply_to(
    server: ModelServer, request: Request = REQUEST, model: str = "m", structured: Structured = "auto"
) -> Reply:
    backend = make_anthropic(server.url, model=model, structured=structured)
    try:
        return await complete(backend, request)
    finally:
        await backend.aclose()


async def test_system_text_schema_and_temperature_stand_where_the_messages_api_wants_them(
    server: ModelServer,
) -> None:
    server.answers = [WIRE.good("{}")]

    await reply_to(server)

    sent = server.requests[0]
    assert server.paths == ["/v1/messages"]
    assert sent["system"] == "You tune kernels."
    assert [message["role"] for message in sent["messages"]] == ["user"]
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert sent["max_tokens"] == 2048
    assert sent["temperature"] == 0.5
    assert KEY not in str(sent)


async def test_without_system_text_and_schema_neither_is_sent(server: ModelServer) -> None:
    server.answers = [WIRE.good("hello")]

    await reply_to(server, replace(REQUEST, messages=REQUEST.messages[1:], schema=None))

    assert not server.requests[0].keys() & {"system", "output_config"}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop_sequence", Stop.COMPLETE),
        ("model_context_window_exceeded", Stop.LENGTH),
        ("refusal", Stop.REFUSED),
    ],
)
async def test_each_stop_reason_is_told_apart(server: ModelServer, reason: str, stop: Stop) -> None:
    server.answers = [WIRE.good("{}", stop=reason)]

    assert (await reply_to(server)).stop is stop


async def test_cached_prompt_tokens_are_added_and_each_kind_has_its_price(server: ModelServer) -> None:
    start = anthropic_start(cache_read_input_tokens=1000, cache_creation_input_tokens=500)
    server.answers = [Answer((*start, anthropic_words("{}"), *anthropic_end("end_turn")))]

    usage = (await reply_to(server, model="claude-haiku-4-5-20251001")).usage

    assert usage.input == 120 + 1000 + 500
    assert usage.cost == pytest.approx((120 * 1 + 1000 * 0.1 + 500 * 1.25 + OUTPUT * 5) / 1e6)


async def test_thinking_is_kept_apart_from_the_text(server: ModelServer) -> None:
    thought = anthropic_event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"})
    server.answers = [Answer((*anthropic_start(), thought, anthropic_words("{}"), *anthropic_end("end_turn")))]

    reply = await reply_to(server)

    assert (reply.text, reply.thinking) == ("{}", "hm")


async def test_thinking_before_a_call_is_kept_apart_from_its_arguments(server: ModelServer) -> None:
    thought = anthropic_event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm {}"})
    server.answers = [WIRE.says((thought,), anthropic_call(0, "answer", '{"a"', ": 1}"))]

    reply = await reply_to(server, structured="tools")

    assert (reply.text, reply.thinking) == ('{"a": 1}', "hm {}")


async def test_the_arguments_of_the_tool_are_asked_for_as_they_grow(server: ModelServer) -> None:
    server.answers = [WIRE.says(anthropic_call(0, "answer", "{}"))]

    await reply_to(server, structured="tools")

    assert server.requests[0]["tools"][0]["eager_input_streaming"] is True


async def test_the_type_of_an_error_inside_the_stream_decides_since_its_status_is_200(server: ModelServer) -> None:
    error = anthropic_event("error", error={"type": "rate_limit_error", "message": "slow"})
    server.answers = [Answer((error,))]

    with pytest.raises(RateLimited):
        await reply_to(server)


def test_a_missing_package_is_named_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)

    with pytest.raises(ModelError, match=r"pip install 'tuner-tui\[anthropic\]'"):
        AnthropicBackend("m", KEY, ModelSettings())
