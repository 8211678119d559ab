from __future__ import annotations

import pytest

from tui_tuner.llm import Structured, Way, refused_ways, steps

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
