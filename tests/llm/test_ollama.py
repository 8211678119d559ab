from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.llm.server import Answer, ModelServer
from tests.llm.wires import INPUT, OLLAMA, OUTPUT, REQUEST, SCHEMA, make_ollama, ollama_call, ollama_end, ollama_words
from tui_tuner.llm import Chunk, Message, Reply, Request
from tui_tuner.llm.errors import ContextTooLong, RequestRefused, TransportError
from tui_tuner.llm.streams import BackoffPolicy, RetryingBackend, complete

GOOD = OLLAMA.good('{"factor": 4}')


async def reply_to(server: ModelServer, request: Request = REQUEST, **settings: Any) -> Reply:
    backend = make_ollama(server.url, **settings)
    try:
        return await complete(backend, request)
    finally:
        await backend.aclose()


async def too_long(server: ModelServer, request: Request = REQUEST, **settings: Any) -> TransportError:
    with pytest.raises(ContextTooLong) as caught:
        await reply_to(server, request, **settings)
    return caught.value


def loaded(context: int) -> dict[str, Any]:
    return {"models": [{"model": "m:latest", "name": "m:latest", "context_length": context}]}


async def test_the_native_route_is_used_with_context_limit_schema_and_temperature(server: ModelServer) -> None:
    server.answers = [GOOD]

    await reply_to(server, context_tokens=20000, temperature=0.25)

    sent = server.requests[0]
    assert server.paths == ["/api/chat"]
    assert sent["options"] == {"num_ctx": 32768, "num_predict": 2048, "temperature": 0.25}
    assert sent["format"] == SCHEMA
    assert sent["stream"] is True


async def test_the_schema_is_repeated_in_the_last_message_since_the_model_does_not_see_the_grammar(
    server: ModelServer,
) -> None:
    server.answers = [GOOD]

    await reply_to(server)

    assert json.dumps(SCHEMA) in server.requests[0]["messages"][-1]["content"]


async def test_the_context_stays_the_same_from_call_to_call_so_that_the_model_is_not_reloaded(
    server: ModelServer,
) -> None:
    server.answers = [GOOD]
    server.pages["/api/ps"] = loaded(8192)
    backend = make_ollama(server.url)

    await complete(backend, REQUEST)
    await complete(backend, replace(REQUEST, max_tokens=16384))
    await backend.aclose()

    assert [sent["options"]["num_ctx"] for sent in server.requests] == [32768, 32768]
    assert backend.context_tokens == 8192


async def test_the_reply_limit_shrinks_to_the_room_that_the_prompt_leaves(server: ModelServer) -> None:
    server.answers = [Answer((ollama_words("{}"), *ollama_end("stop", prompt=1800, reply=2)))]
    request = replace(REQUEST, messages=(Message("user", "word " * 1500),), schema=None, max_tokens=16384)

    await reply_to(server, request, context_tokens=4096)

    assert 1024 <= server.requests[0]["options"]["num_predict"] < 4096 - 2500 + 1


async def test_a_prompt_that_leaves_no_room_is_refused_before_it_is_sent(server: ModelServer) -> None:
    error = await too_long(server, replace(REQUEST, messages=(Message("user", "x" * 12000),)), context_tokens=4096)

    assert "leave no room" in str(error)
    assert server.requests == []
    assert not error.retryable


async def test_a_window_that_slid_while_generating_is_no_reply(server: ModelServer) -> None:
    server.answers = [Answer((ollama_words("{}"), *ollama_end("stop", prompt=2000, reply=2096)))]

    error = await too_long(server, context_tokens=4096)

    assert "slid" in str(error)
    assert error.usage is not None
    assert (error.usage.input, error.usage.output) == (2000, 2096)


async def test_a_prompt_of_which_the_server_read_only_a_part_is_no_reply(server: ModelServer) -> None:
    server.answers = [Answer((ollama_words("{}"), *ollama_end("stop", prompt=2050, reply=50)))]
    request = replace(REQUEST, messages=(Message("user", "the whole kernel " * 900),))

    assert "read only 2050 tokens" in str(await too_long(server, request))


async def test_indentation_does_not_make_a_prompt_look_cut(server: ModelServer) -> None:
    server.answers = [Answer((ollama_words("{}"), *ollama_end("stop", prompt=500, reply=5)))]
    request = replace(REQUEST, messages=(Message("user", ("\n" + " " * 40 + "x = 1;") * 200),))

    assert (await reply_to(server, request)).text == "{}"


async def test_the_context_really_loaded_is_asked_for_and_believed(server: ModelServer) -> None:
    server.pages["/api/ps"] = loaded(2048)
    server.answers = [Answer((ollama_words("{}"), *ollama_end("stop", prompt=1600, reply=450)))]

    error = await too_long(server)

    assert "context of 2048 tokens" in str(error)


@pytest.mark.parametrize("page", [{"models": "nonsense"}, ["nonsense"], {}])
async def test_a_server_that_cannot_say_what_is_loaded_costs_no_reply(server: ModelServer, page: Any) -> None:
    server.answers = [GOOD]
    server.pages["/api/ps"] = page

    assert (await reply_to(server)).text == '{"factor": 4}'


async def test_thinking_is_kept_apart_from_the_text(server: ModelServer) -> None:
    server.answers = [
        Answer((ollama_words("", "hm, "), ollama_words("", "4?"), ollama_words("{}"), *ollama_end("stop")))
    ]
    chunks: list[Chunk] = []
    backend = make_ollama(server.url)

    reply = await complete(backend, REQUEST, chunks.append)
    await backend.aclose()

    assert (reply.text, reply.thinking) == ("{}", "hm, 4?")
    assert [chunk.thinking for chunk in chunks if chunk.thinking] == ["hm, ", "4?"]


async def test_thinking_before_a_call_is_kept_apart_from_its_arguments(server: ModelServer) -> None:
    call = ollama_call(0, "answer", '{"code": "\\u00b5\\n", "list": [{"deep": null}]}')
    server.answers = [OLLAMA.says((ollama_words("", "hm {}"),), call)]

    reply = await reply_to(server, structured="tools")

    assert reply.thinking == "hm {}"
    assert json.loads(reply.text) == {"code": "µ\n", "list": [{"deep": None}]}


async def test_the_tool_counts_where_a_prompt_has_to_fit(server: ModelServer) -> None:
    server.answers = [Answer((ollama_words("{}"), *ollama_end("stop", prompt=1500)))]
    properties = {f"field_{number}": {"type": "string", "description": "x" * 90} for number in range(40)}
    wide = replace(REQUEST, schema={"type": "object", "properties": properties, "required": list(properties)})

    await reply_to(server, wide, context_tokens=8192, structured="text")
    await too_long(server, wide, context_tokens=4096, structured="tools")

    assert len(server.requests) == 1


async def test_missing_counts_are_estimated_and_marked_and_a_local_model_costs_nothing(server: ModelServer) -> None:
    server.answers = [Answer((ollama_words("{}"), *ollama_end("stop", prompt=0)))]
    assert (await reply_to(server)).usage.estimated

    server.answers = [GOOD]
    usage = (await reply_to(server)).usage
    assert (usage.input, usage.output, usage.cost, usage.estimated) == (INPUT, OUTPUT, 0.0, False)


async def test_a_proxy_in_the_environment_does_not_stand_between_us_and_this_machine(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.answers = [GOOD]

    assert (await reply_to(server)).text == '{"factor": 4}'


async def test_a_page_in_the_place_of_a_stream_is_told_as_one(server: ModelServer) -> None:
    server.answers = [Answer(("<!DOCTYPE html>\n<title>Log in</title>\n",), 200, {"Content-Type": "text/html"})]
    backend = RetryingBackend(make_ollama(server.url), BackoffPolicy(base_s=0.001))
    with pytest.raises(RequestRefused, match="no stream of words came, but a page of HTML; is this the address"):
        await complete(backend, REQUEST)
    await backend.aclose()
    assert len(server.requests) == 1
