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
    openai_chunk,
    openai_end,
    openai_usage,
)
from tests.llm.wires import (
    OPENAI as WIRE,
)
from tui_tuner.errors import ModelError
from tui_tuner.llm.base import Reply, Stop
from tui_tuner.llm.complete import complete
from tui_tuner.llm.openai import OPENAI, OPENROUTER, Dialect, OpenAIBackend
from tui_tuner.llm.settings import ModelSettings

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
