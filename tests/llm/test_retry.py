from __future__ import annotations

import asyncio

import pytest

from tests.llm.fakes import FakeBackend, retries, said
from tests.llm.wires import REQUEST
from tui_tuner.llm import Chunk, Structured, Way, refused_ways, steps
from tui_tuner.llm.errors import (
    BrokenOff,
    KeyRefused,
    ModelTimedOut,
    RateLimited,
    ServerFault,
    Service,
    TransportError,
    Unreachable,
)
from tui_tuner.llm.streams import BackoffPolicy, RetryingBackend, complete

SITE = Service("fake", "http://localhost")
FAST = BackoffPolicy(base_s=0.001)


def fault() -> TransportError:
    return ServerFault("down", SITE, status=500)


async def test_a_fault_is_tried_again_and_each_pause_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    backend = FakeBackend([fault()], [fault()], said("ok"))

    reply = await complete(RetryingBackend(backend, FAST), REQUEST)

    assert reply.text == "ok"
    assert [(told["attempt"], told["of"]) for told in retries(caplog)] == [(1, 3), (2, 3)]
    assert {told["error"] for told in retries(caplog)} == {str(fault())}


async def test_the_last_fault_is_raised_when_all_tries_are_used() -> None:
    backend = FakeBackend([fault()], [fault()], [fault()], said("too late"))

    with pytest.raises(ServerFault):
        await complete(RetryingBackend(backend, FAST), REQUEST)

    assert len(backend.requests) == 3


@pytest.mark.parametrize("status", [502, 503, 504, 529])
async def test_a_provider_with_too_much_to_do_is_asked_for_longer(status: int) -> None:
    backend = FakeBackend(*[[ServerFault("busy", SITE, status=status)]] * 8, said("ok"))

    assert (await complete(RetryingBackend(backend, FAST), REQUEST)).text == "ok"


async def test_a_provider_that_has_answered_is_waited_for_where_the_network_is_gone_and_no_other() -> None:
    gone = [[Unreachable("no connection", SITE)]] * 8
    backend = RetryingBackend(FakeBackend(said("ok"), *gone, said("back")), FAST)
    assert [(await complete(backend, REQUEST)).text for _ in range(2)] == ["ok", "back"]

    never = FakeBackend(*gone)
    with pytest.raises(Unreachable):
        await complete(RetryingBackend(never, FAST), REQUEST)
    assert len(never.requests) == 3


async def test_a_pause_that_takes_a_while_is_told_with_its_reason() -> None:
    fault = RateLimited("too many requests", SITE, status=429, retry_after=0.02)
    backend = FakeBackend([fault], said("ok"))
    chunks: list[Chunk] = []

    reply = await complete(RetryingBackend(backend, BackoffPolicy(base_s=0, told_s=0.01)), REQUEST, chunks.append)

    assert [chunk.notice for chunk in chunks if chunk.notice] == [f"the model is asked again in 0.0 s: {fault}"]
    assert (reply.text, reply.notice) == ("ok", "")


async def test_a_short_pause_is_not_told() -> None:
    chunks: list[Chunk] = []

    await complete(RetryingBackend(FakeBackend([fault()], said("ok")), FAST), REQUEST, chunks.append)

    assert [chunk.notice for chunk in chunks if chunk.notice] == []


async def test_what_cannot_get_better_is_not_tried_again() -> None:
    backend = FakeBackend([KeyRefused("no", SITE)], said("never"))

    with pytest.raises(KeyRefused):
        await complete(RetryingBackend(backend, FAST), REQUEST)

    assert len(backend.requests) == 1


@pytest.mark.parametrize("first", [Chunk("words"), Chunk(thinking="thoughts")])
async def test_nothing_is_tried_again_once_words_or_thoughts_were_shown(first: Chunk) -> None:
    backend = FakeBackend([first, BrokenOff("cut", SITE)], said("never"))

    with pytest.raises(BrokenOff):
        await complete(RetryingBackend(backend, FAST), REQUEST)

    assert len(backend.requests) == 1


def test_pauses_double_with_jitter_up_to_a_ceiling_and_never_undercut_what_the_server_asks_for() -> None:
    policy = BackoffPolicy(base_s=1, longest_s=3)

    assert all(0.5 <= policy.pause(1, fault()) <= 1.5 for _ in range(50))
    assert all(1 <= policy.pause(2, fault()) <= 3 for _ in range(50))
    assert all(1.5 <= policy.pause(9, fault()) <= 4.5 for _ in range(50))
    assert len({policy.pause(1, fault()) for _ in range(50)}) > 1
    assert policy.pause(1, RateLimited("wait", SITE, retry_after=20)) == 20
    assert policy.pause(1, RateLimited("wait", SITE)) <= 1.5


async def test_a_wait_longer_than_the_call_may_take_is_not_begun() -> None:
    backend = FakeBackend([RateLimited("wait", SITE, retry_after=3600)], said("never"))

    with pytest.raises(RateLimited):
        await complete(RetryingBackend(backend, BackoffPolicy(limit_s=60)), REQUEST)


async def test_a_call_that_keeps_talking_is_still_ended_by_the_clock() -> None:
    backend = FakeBackend([item for _ in range(100) for item in (Chunk("on "), 0.01)])

    with pytest.raises(ModelTimedOut, match=r"no whole reply within 0\.1 s"):
        await complete(RetryingBackend(backend, BackoffPolicy(limit_s=0.1)), REQUEST)


async def test_the_clock_counts_for_all_tries_together() -> None:
    backend = FakeBackend([0.06, fault()], [0.06, fault()], said("never"))
    started = asyncio.get_running_loop().time()

    with pytest.raises(ModelTimedOut):
        await complete(RetryingBackend(backend, BackoffPolicy(limit_s=0.1, base_s=0.001)), REQUEST)

    assert asyncio.get_running_loop().time() - started < 100


async def test_the_size_of_the_context_follows_what_the_call_found_out() -> None:
    backend = FakeBackend(said("ok"))
    retrying = RetryingBackend(backend, FAST)
    backend.context_tokens = 2048

    await complete(retrying, REQUEST)
    await retrying.aclose()

    assert retrying.context_tokens == 2048
    assert backend.closed


TOOLS = {Way.FORCED_TOOL, Way.OFFERED_TOOL}


@pytest.mark.parametrize(
    "said",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "This response_format type is unavailable now",
        "Failed to deserialize the JSON body: response_format.type `json_schema` is unavailable now",
        "output_config: Extra inputs are not permitted",
        "The compiled grammar is too large, which would cause performance issues.",
        "json: cannot unmarshal object into Go struct field ChatRequest.format of type string",
        'invalid format: expected \\"json\\" or a JSON schema',
        "The provided JSON schema contains features not supported by xgrammar.",
        "model does not support structured outputs",
    ],
)
@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_refusal_that_names_the_schema_is_about_the_schema(said: str, status: int) -> None:
    assert refused_ways(status, said) == {Way.SCHEMA}


@pytest.mark.parametrize(
    "said",
    [
        "registry.ollama.ai/library/deepseek-r1:14b does not support tools",
        "No endpoints found that support tool use. To learn more about provider routing, visit: https://example.org",
        "No endpoints found that support the provided 'tool_choice' value.",
        "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "Thinking may not be enabled when tool_choice forces tool use.",
        "tools.0.custom.eager_input_streaming: Extra inputs are not permitted",
        "tools: Extra inputs are not permitted",
        "Function calling is not enabled for this model",
    ],
)
def test_a_refusal_that_names_tools_is_about_tools(said: str) -> None:
    assert refused_ways(400, said) == TOOLS


@pytest.mark.parametrize(
    "said",
    [
        "",
        "The model `gpt-tools` does not exist",
        "model 'tools:7b' not found",
        "model 'toolace-8b' not found",
        "library/tools/x not found",
        "'m' does not support thinking",
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "messages: roles must alternate between user and assistant",
        "Invalid message format",
        "max_tokens is too large",
    ],
)
def test_a_refusal_of_something_else_is_about_no_way_of_asking(said: str) -> None:
    assert refused_ways(400, said) == set()


@pytest.mark.parametrize("status", [None, 200, 401, 403, 413, 429, 500, 503])
def test_another_status_is_about_no_way_of_asking(status: int | None) -> None:
    assert refused_ways(status, "response_format and tools do not work") == set()


@pytest.mark.parametrize(
    "body",
    [
        '{"detail": [{"loc": ["body", "top_q"], "msg": "Required", "input": {"tools": [], "response_format": 1}}]}',
        """{"message": "[{'loc': ('body', 'top_q'), 'input': {'tools': [], 'response_format': 1}}]"}""",
        r'{"message": "{\"loc\": \"top_q\", \"input\": {\"tools\": [], \"response_format\": 1}}"}',
    ],
)
def test_the_request_that_a_server_repeats_in_its_refusal_says_nothing(body: str) -> None:
    assert refused_ways(422, body) == set()


@pytest.mark.parametrize(
    ("structured", "ways"),
    [
        ("auto", (Way.SCHEMA, Way.FORCED_TOOL, Way.OFFERED_TOOL, Way.TEXT)),
        ("schema", (Way.SCHEMA,)),
        ("tools", (Way.FORCED_TOOL, Way.OFFERED_TOOL)),
        ("text", (Way.TEXT,)),
    ],
)
def test_only_auto_leads_from_one_kind_of_way_to_another(structured: Structured, ways: tuple[Way, ...]) -> None:
    assert steps(structured, forces_tools=True) == ways
    assert steps(structured, forces_tools=False) == tuple(way for way in ways if way is not Way.FORCED_TOOL)
