"""The three wire formats, each as pieces of a stream and as the adapter that reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tests.llm.server import Answer
from tui_tuner.llm import Backend, Message, ModelSettings, Request, Structured
from tui_tuner.llm.anthropic import AnthropicBackend
from tui_tuner.llm.ollama import OllamaBackend
from tui_tuner.llm.openai import Dialect, OpenAIBackend
from tui_tuner.llm.streams import Pace

KEY = "sk-test-0123456789abcdefghij"
SCHEMA = {
    "type": "object",
    "properties": {"factor": {"type": "integer"}},
    "required": ["factor"],
    "additionalProperties": False,
}
REQUEST = Request(
    "one_prompt",
    (Message("system", "You tune kernels."), Message("user", "How far shall I unroll? " * 10)),
    SCHEMA,
    max_tokens=2048,
)
QUICK = Pace(first_s=100, between_s=100)
INPUT, OUTPUT = 120, 30
"""Tokens that every good reply reports; the prompt of REQUEST has about as many."""


class Make(Protocol):
    def __call__(self, url: str, pace: Pace = ..., *, structured: Structured = ...) -> Backend: ...


@dataclass(frozen=True)
class Wire:
    """One provider's speech.

    Attributes:
        call: the pieces of a tool call, from its place in the reply, its name and the pieces of its arguments.
        called: the stop reason of a reply that is a call.
        no_schema: a refusal of the JSON schema.
        no_force: a refusal to be made to call a tool; None: there is no way to make the model call one.
        no_tools: a refusal of tools.
    """

    name: str
    make: Make
    words: Callable[[str], str]
    end: Callable[[str], tuple[str, ...]]
    complete: str
    length: str
    error: str
    call: Callable[..., tuple[str, ...]]
    called: str
    no_schema: Answer
    no_force: Answer | None
    no_tools: Answer
    start: tuple[str, ...] = ()

    def good(self, *texts: str, stop: str | None = None) -> Answer:
        return Answer((*self.start, *map(self.words, texts), *self.end(stop or self.complete)))

    def says(self, *pieces: str | tuple[str, ...], stop: str | None = None) -> Answer:
        """A reply of words (strings) and calls (pieces of them)."""
        flat = [part for piece in pieces for part in ([self.words(piece)] if isinstance(piece, str) else piece)]
        return Answer((*self.start, *flat, *self.end(stop or self.called)))

    def broken(self, text: str, end: Any) -> Answer:
        return Answer((*self.start, self.words(text)), end=end)


def ollama_line(**fields: Any) -> str:
    return json.dumps({"model": "m", "created_at": "2026-01-01T00:00:00Z", **fields}) + "\n"


def ollama_words(text: str, thinking: str = "") -> str:
    return ollama_line(message={"role": "assistant", "content": text, "thinking": thinking}, done=False)


def ollama_end(reason: str, prompt: int = INPUT, reply: int = OUTPUT) -> tuple[str, ...]:
    message = {"role": "assistant", "content": ""}
    return (ollama_line(message=message, done=True, done_reason=reason, prompt_eval_count=prompt, eval_count=reply),)


def ollama_call(_: int, name: str, *arguments: str) -> tuple[str, ...]:
    call = {"function": {"name": name, "arguments": json.loads("".join(arguments))}}
    return (ollama_line(message={"role": "assistant", "content": "", "tool_calls": [call]}, done=False),)


def refused(message: str, status: int = 400) -> Answer:
    return Answer((json.dumps({"error": {"type": "invalid_request_error", "message": message}}),), status)


def sse(content: Any, event: str = "") -> str:
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {json.dumps(content)}\n\n"


def openai_chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


def openai_usage(**more: Any) -> str:
    usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT, **more}
    return sse(
        {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage}
    )


def openai_end(reason: str) -> tuple[str, ...]:
    return openai_chunk({}, reason), openai_usage(), "data: [DONE]\n\n"


def openai_call(place: int, name: str | None, *arguments: str, identity: str | None = None) -> tuple[str, ...]:
    head = {"index": place, "id": identity or f"call_{place}", "type": "function"}
    return (
        openai_chunk({"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]}),
        *(openai_chunk({"tool_calls": [{"index": place, "function": {"arguments": part}}]}) for part in arguments),
    )


def anthropic_event(kind: str, **fields: Any) -> str:
    return sse({"type": kind, **fields}, kind)


def anthropic_start(**usage: int) -> tuple[str, ...]:
    message: dict[str, Any] = {
        "id": "1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": INPUT, "output_tokens": 1, **usage},
    }  # fmt: skip
    block = {"type": "text", "text": ""}
    return (
        anthropic_event("message_start", message=message),
        anthropic_event("content_block_start", index=0, content_block=block),
    )


def anthropic_words(text: str) -> str:
    return anthropic_event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def anthropic_call(place: int, name: str, *arguments: str) -> tuple[str, ...]:
    block = {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": {}}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *arguments)]
    return (
        anthropic_event("content_block_start", index=place + 1, content_block=block),
        *(anthropic_event("content_block_delta", index=place + 1, delta=piece) for piece in pieces),
        anthropic_event("content_block_stop", index=place + 1),
    )


def anthropic_end(reason: str) -> tuple[str, ...]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return (
        anthropic_event("content_block_stop", index=0),
        anthropic_event("message_delta", delta=delta, usage={"output_tokens": OUTPUT}),
        anthropic_event("message_stop"),
    )


def make_ollama(url: str, pace: Pace = QUICK, **settings: Any) -> OllamaBackend:
    return OllamaBackend("m", url, ModelSettings(**settings), pace)


def make_openai(
    url: str, pace: Pace = QUICK, *, model: str = "m", structured: Structured = "auto", **dialect: Any
) -> OpenAIBackend:
    settings = ModelSettings(structured=structured)
    return OpenAIBackend(model, KEY, settings, Dialect("openai", f"{url}/v1", **dialect), pace)


def make_anthropic(
    url: str, pace: Pace = QUICK, *, model: str = "m", structured: Structured = "auto"
) -> AnthropicBackend:
    return AnthropicBackend(model, KEY, ModelSettings(temperature=0.5, structured=structured), url, pace)


OLLAMA = Wire(
    "ollama",
    make_ollama,
    ollama_words,
    ollama_end,
    "stop",
    "length",
    ollama_line(error="model runner stopped"),
    ollama_call,
    "stop",
    Answer(('{"error": "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"}',), 400),
    None,
    Answer(('{"error": "registry.ollama.ai/library/m does not support tools"}',), 400),
)
OPENAI = Wire(
    "openai",
    make_openai,
    lambda text: openai_chunk({"content": text}),
    openai_end,
    "stop",
    "length",
    sse({"error": {"message": "the worker died", "type": "server_error"}}),
    openai_call,
    "tool_calls",
    refused("This response_format type is unavailable now"),
    refused("No endpoints found that support the provided 'tool_choice' value", 404),
    refused("No endpoints found that support tool use.", 404),
)
ANTHROPIC = Wire(
    "anthropic",
    make_anthropic,
    anthropic_words,
    anthropic_end,
    "end_turn",
    "max_tokens",
    anthropic_event("error", error={"type": "overloaded_error", "message": "Overloaded"}),
    anthropic_call,
    "tool_use",
    refused("output_config: Extra inputs are not permitted"),
    refused("Thinking may not be enabled when tool_choice forces tool use."),
    refused("tools: Extra inputs are not permitted", 422),
    anthropic_start(),
)
WIRES = (OLLAMA, OPENAI, ANTHROPIC)
