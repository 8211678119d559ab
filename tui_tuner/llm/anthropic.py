"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tui_tuner.errors import ModelError
from tui_tuner.llm import Chunk, ModelSettings, Request, Stop, Way, shown
from tui_tuner.llm.errors import Service, TransportError, connection_fault, refuse_page, status_fault
from tui_tuner.llm.prices import Counts, usage
from tui_tuner.llm.streams import Pace
from tui_tuner.llm.typed import PACE, TOOL, TOOL_DESCRIPTION, Calls, HttpBackend, Ladder, reached, worded

if TYPE_CHECKING:
    from anthropic import AsyncStream
    from anthropic.types import RawContentBlockDeltaEvent, RawMessageStreamEvent

_URL = "https://api.anthropic.com"
_STOPS = {
    "end_turn": Stop.COMPLETE,
    "stop_sequence": Stop.COMPLETE,
    "tool_use": Stop.COMPLETE,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "refusal": Stop.REFUSED,
}
_TOOL_CHOICE = {  # a model that thinks refuses to be forced
    Way.FORCED_TOOL: {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True},
    Way.OFFERED_TOOL: {"type": "auto", "disable_parallel_tool_use": True},
}
_STATUS_INSIDE = {  # an error inside a stream has status 200; its type tells
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBackend(HttpBackend):
    """A model of Anthropic.

    Args:
        url: of the server; None: Anthropic's own.

    Raises:
        ModelError: the `anthropic` package is not installed.
    """

    def __init__(
        self, model: str, key: str, settings: ModelSettings, url: str | None = None, pace: Pace = PACE
    ) -> None:
        try:
            import anthropic
            import httpx2
        except ImportError:
            raise ModelError("the anthropic package is missing", hint="pip install 'tuner-tui[anthropic]'") from None
        url = url or _URL
        super().__init__(Service("anthropic", shown(url), (key,)), pace, Ladder(settings.structured))
        self.name = f"anthropic:{model}"
        self._model, self._temperature = model, settings.temperature
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(**reached(url, pace, httpx2.Timeout)),
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _chunks(self, request: Request, way: Way) -> AsyncGenerator[Chunk]:
        stop: Stop | None = None
        counts, calls = Counts(0, 0), Calls()
        stream: AsyncStream[RawMessageStreamEvent] = await self._client.messages.create(**self._arguments(request, way))
        async with stream:
            async for event in stream:
                match event.type:
                    case "message_start":
                        counts = _prompt_counts(event.message.usage)
                    case "content_block_start" if event.content_block.type == "tool_use":
                        calls.begin(event.index, event.content_block.name)
                    case "content_block_delta" if chunk := _piece(event, calls):
                        yield chunk
                    case "message_delta":
                        stop = _STOPS.get(event.delta.stop_reason or "")
                        counts = Counts(counts.input, event.usage.output_tokens, counts.cached, counts.cache_write)
        if stop is not None:
            yield replace(calls.end(), stop=stop, usage=usage(self.name, counts))
        elif counts == Counts(0, 0):
            refuse_page(self._service, stream.response.headers)

    def _arguments(self, request: Request, way: Way) -> dict[str, Any]:
        messages = worded(request, way, shown=True)
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        turns = [message for message in messages if message.role != "system"]
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in turns],
            "max_tokens": request.max_tokens,
            "stream": True,
        }
        if system:
            arguments["system"] = system
        if request.schema is not None:
            arguments |= _typed(request.schema, way)
        if self._temperature is not None:
            # Only older models take one, so the client has no parameter for it; the others refuse it by name.
            arguments["extra_body"] = {"temperature": self._temperature}
        return arguments

    def _translate(self, error: Exception) -> TransportError | None:
        import anthropic

        if isinstance(error, anthropic.APIStatusError):
            status = error.status_code
            inside = _STATUS_INSIDE.get(error.type or "") if status == 200 else status
            said = json.dumps(error.body) if isinstance(error.body, dict) else error.message
            return status_fault(self._service, inside, said, error.response.headers)
        if isinstance(error, anthropic.APIConnectionError):
            return connection_fault(self._service, error.__cause__ or error)
        if isinstance(error, anthropic.APIError):
            return status_fault(self._service, None, error.message)
        return connection_fault(self._service, error)


def _typed(schema: dict[str, Any], way: Way) -> dict[str, Any]:
    """Return the arguments that ask for a reply of this schema."""
    if way is Way.SCHEMA:
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    if way in (Way.TEXT, Way.FENCED):
        return {}
    # Not eager, each text in the arguments would come at once after a long silence.
    tool = {"name": TOOL, "description": TOOL_DESCRIPTION, "input_schema": schema, "eager_input_streaming": True}
    return {"tools": [tool], "tool_choice": _TOOL_CHOICE[way]}


def _piece(event: RawContentBlockDeltaEvent, calls: Calls) -> Chunk | None:
    match event.delta.type:
        case "text_delta":
            return calls.prose(event.delta.text)
        case "thinking_delta":
            return Chunk(thinking=event.delta.thinking)
        case "input_json_delta":
            return calls.arguments(event.index, event.delta.partial_json)
    return None


def _prompt_counts(counts: Any) -> Counts:  # noqa: ANN401 (an optional package's type)
    """Return the prompt's tokens; Anthropic counts those of its cache apart."""
    cached, written = counts.cache_read_input_tokens or 0, counts.cache_creation_input_tokens or 0
    return Counts(counts.input_tokens + cached + written, 0, cached, written)
