"""OpenAI's Chat Completions, and every server that speaks them: OpenRouter, vLLM, llama.cpp, LM Studio."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from tui_tuner.errors import ModelError
from tui_tuner.llm import Chunk, ModelSettings, Request, Stop, Usage, Way, host_of, shown
from tui_tuner.llm.errors import Service, TransportError, connection_fault, refuse_page, status_fault
from tui_tuner.llm.prices import Counts, estimated_usage, usage
from tui_tuner.llm.streams import Pace
from tui_tuner.llm.typed import PACE, Calls, HttpBackend, Ladder, function_tool, reached, worded

if TYPE_CHECKING:
    from openai import AsyncStream
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

_STOPS = {
    "stop": Stop.COMPLETE,
    "tool_calls": Stop.COMPLETE,
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSED,
}
# With one tool, "required" is that one; servers that take no tool by name take this.
_TOOL_CHOICE = {Way.FORCED_TOOL: "required", Way.OFFERED_TOOL: "auto"}


@dataclass(frozen=True)
class Dialect:
    """How a server's speech differs from the others'.

    Attributes:
        limit: the parameter that limits the reply; OpenAI's newer models refuse the older name,
            most other servers know no other.
        own: whether the server is the provider's own, and not one that the user named.
    """

    provider: str
    base_url: str
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    own: bool = False

    def name(self, model: str) -> str:
        """Return the back end's name; a server of the user's own is part of it."""
        return f"{self.provider}:{model}" + ("" if self.own else f"@{host_of(self.base_url)}")


OPENAI = Dialect("openai", "https://api.openai.com/v1", "max_completion_tokens", own=True)
OPENROUTER = Dialect("openrouter", "https://openrouter.ai/api/v1", own=True)


class OpenAIBackend(HttpBackend):
    """A model behind Chat Completions.

    Args:
        key: the API key; None for a server that needs none.

    Raises:
        ModelError: the `openai` package is not installed.
    """

    def __init__(
        self, model: str, key: str | None, settings: ModelSettings, dialect: Dialect = OPENAI, pace: Pace = PACE
    ) -> None:
        try:
            import httpx2
            import openai
        except ImportError:
            raise ModelError("the openai package is missing", hint="pip install 'tuner-tui[openai]'") from None
        service = Service(dialect.provider, shown(dialect.base_url), (key,) if key else ())
        super().__init__(service, pace, Ladder(settings.structured))
        self.name = dialect.name(model)
        self._model, self._dialect, self._temperature = model, dialect, settings.temperature
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=dialect.base_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(**reached(dialect.base_url, pace, httpx2.Timeout)),
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _chunks(self, request: Request, way: Way) -> AsyncGenerator[Chunk]:
        stop: Stop | None = None
        counts: CompletionUsage | None = None
        said: list[str] = []
        calls = Calls()
        stream: AsyncStream[ChatCompletionChunk] = await self._client.chat.completions.create(
            **self._arguments(request, way)
        )
        async with stream:
            async for part in stream:
                counts = part.usage or counts
                for choice in part.choices or ():  # the chunk with the usage has none
                    stop = Stop.REFUSED if choice.delta.refusal else stop or _STOPS.get(choice.finish_reason or "")
                    for chunk in _pieces(choice.delta, calls):
                        said += [chunk.thinking, chunk.text]
                        yield chunk
        if stop is not None:
            yield replace(calls.end(), stop=stop, usage=self._usage(counts, request, "".join(said)))
        elif not said:
            refuse_page(self._service, stream.response.headers)

    def _arguments(self, request: Request, way: Way) -> dict[str, Any]:
        # Only OpenAI's own models are sure to be shown the schema that binds them.
        messages = worded(request, way, shown=self._dialect is OPENAI)
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            self._dialect.limit: request.max_tokens,
        }
        if request.schema is not None and way is Way.SCHEMA:
            schema = {"name": request.purpose, "schema": request.schema, "strict": True}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.schema is not None and way in _TOOL_CHOICE:
            arguments |= {"tools": [function_tool(request.schema)], "tool_choice": _TOOL_CHOICE[way]}
        return arguments if self._temperature is None else {**arguments, "temperature": self._temperature}

    def _usage(self, counts: CompletionUsage | None, request: Request, said: str) -> Usage:
        if counts is None:
            return estimated_usage(self.name, request, said)
        details = counts.prompt_tokens_details
        cached, written = (details.cached_tokens, details.cache_write_tokens) if details else (0, 0)
        priced = usage(self.name, Counts(counts.prompt_tokens, counts.completion_tokens, cached or 0, written or 0))
        charged = (counts.model_extra or {}).get("cost")  # OpenRouter says what it charged
        return priced if charged is None else Usage(priced.input, priced.output, float(charged))

    def _translate(self, error: Exception) -> TransportError | None:
        import openai

        if isinstance(error, openai.APIStatusError):
            return status_fault(self._service, error.status_code, error.response.text, error.response.headers)
        if isinstance(error, openai.APIConnectionError):
            return connection_fault(self._service, error.__cause__ or error)
        if isinstance(error, openai.APIError):
            said = json.dumps(error.body) if isinstance(error.body, dict) else error.message
            return status_fault(self._service, _status_inside(error), said)
        return connection_fault(self._service, error)


def _pieces(delta: ChoiceDelta, calls: Calls) -> Iterator[Chunk]:
    """Yield what is new: thoughts, words, then pieces of calls."""
    extra = delta.model_extra or {}
    if thinking := extra.get("reasoning_content") or extra.get("reasoning"):
        yield Chunk(thinking=thinking)
    if text := f"{delta.content or ''}{delta.refusal or ''}":
        yield calls.prose(text)
    for call in delta.tool_calls or ():
        if call.function is not None:
            calls.begin(call.index, call.function.name, call.id)
            if call.function.arguments:
                yield calls.arguments(call.index, call.function.arguments)


def _status_inside(error: Any) -> int | None:  # noqa: ANN401 (an optional package's type)
    """Return the HTTP status that some servers give as the code of an error inside a stream."""
    return int(error.code) if str(error.code or "").isdecimal() else None
