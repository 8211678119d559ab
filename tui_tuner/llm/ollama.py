"""Ollama over its own API, which alone can set the size of the context, and the models that a server has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import httpx

from tui_tuner.errors import ModelError
from tui_tuner.llm import Chunk, Message, ModelSettings, Request, Stop, Usage, Way, is_loopback, shown
from tui_tuner.llm.errors import (
    ContextTooLong,
    Service,
    TransportError,
    connection_fault,
    hopeless_in,
    hung_up,
    status_fault,
)
from tui_tuner.llm.prices import Counts, estimate, estimate_messages, estimated_usage, fewest, usage
from tui_tuner.llm.streams import Pace, closing
from tui_tuner.llm.typed import CONNECT_S, Calls, HttpBackend, Ladder, function_tool, reached, worded
from tui_tuner.text import flattened

if TYPE_CHECKING:
    import ollama


_PACE = Pace(first_s=600, between_s=120)  # a cold model loads for minutes; a schema restarts it after thinking
_LEAST_REPLY = 1024  # tokens that must be left for a reply
_STOPS = {"stop": Stop.COMPLETE, "length": Stop.LENGTH}


class OllamaBackend(HttpBackend):
    """A model of an Ollama server.

    Ollama cuts what is too long without a word, so each call is checked before and after:
    a reply from a cut prompt or a window that slid raises ContextTooLong.

    Args:
        url: of the server.
    """

    def __init__(self, model: str, url: str, settings: ModelSettings, pace: Pace = _PACE) -> None:
        import ollama

        super().__init__(Service("ollama", shown(url)), pace, Ladder(settings.structured, forces_tools=False))
        self.name = f"ollama:{model}"
        # A load-time option: one value for the session, or every change reloads the model.
        self._num_ctx = 1 << (settings.context_tokens - 1).bit_length()
        self.context_tokens = self._num_ctx
        self._model, self._temperature = model, settings.temperature
        self._loaded_checked = False
        self._client = ollama.AsyncClient(host=url, **reached(url, pace, httpx.Timeout))

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _chunks(self, request: Request, way: Way) -> AsyncGenerator[Chunk]:
        # The model does not see the grammar, and its template may show only a part of a tool.
        messages = worded(request, way, shown=False)
        tools = [] if request.schema is None or way is not Way.OFFERED_TOOL else [function_tool(request.schema)]
        said: list[str] = []
        calls = Calls()
        # Returns at once: the request goes out with the first step of the iteration.
        parts = await self._client.chat(
            self._model,
            [{"role": message.role, "content": message.content} for message in messages],
            stream=True,
            format=request.schema if way is Way.SCHEMA else None,
            tools=tools,
            options=self._options(request, estimate_messages(messages) + (estimate(json.dumps(tools)) if tools else 0)),
        )
        async with closing(parts) as received:
            async for part in received:
                for chunk in _pieces(part.message, calls):
                    said += [chunk.thinking, chunk.text]
                    yield chunk
                if part.done and part.done_reason in _STOPS:
                    await self._refuse_cut_prompt(messages, part)
                    usage = self._usage(part, request, "".join(said))
                    yield replace(calls.end(), stop=_STOPS[part.done_reason], usage=usage)

    def _options(self, request: Request, prompt: int) -> dict[str, Any]:
        window = self.context_tokens or self._num_ctx
        room = window - prompt
        if room < min(request.max_tokens, _LEAST_REPLY):
            reason = f"about {prompt} tokens of prompt leave no room in a context of {window}"
            raise ContextTooLong(reason, self._service)
        options: dict[str, Any] = {"num_ctx": self._num_ctx, "num_predict": min(request.max_tokens, room)}
        return options if self._temperature is None else {**options, "temperature": self._temperature}

    async def _refuse_cut_prompt(self, messages: tuple[Message, ...], last: ollama.ChatResponse) -> None:
        if not self._loaded_checked:
            await self._note_loaded_context()
        prompt, reply = last.prompt_eval_count or 0, last.eval_count or 0
        window = self.context_tokens or self._num_ctx
        if prompt + reply >= window:
            reason = f"prompt ({prompt}) and reply ({reply}) filled the context of {window} tokens, which then slid"
            raise self._cut(reason, prompt, reply)
        if 0 < prompt < fewest(messages):
            raise self._cut(f"the server read only {prompt} tokens of the prompt and dropped the rest", prompt, reply)

    def _cut(self, reason: str, prompt: int, reply: int) -> ContextTooLong:
        error = ContextTooLong(f"{reason}; raise context_tokens or shorten the kernel", self._service)
        error.usage = usage(self.name, Counts(prompt, reply))
        return error

    async def _note_loaded_context(self) -> None:
        """Take over the context that the server really loaded, which may be smaller than asked for."""
        import ollama

        self._loaded_checked = True
        try:
            async with asyncio.timeout(CONNECT_S):
                running = (await self._client.ps()).models
        except (ollama.ResponseError, httpx.HTTPError, OSError, ValueError, TypeError):
            return  # the reply is here; an unanswered question about the server must not lose it
        names = {self._model, f"{self._model}:latest"}
        loaded = [model.context_length for model in running if names & {model.model, model.name}]
        self.context_tokens = min([self._num_ctx, *filter(None, loaded)])

    def _usage(self, last: ollama.ChatResponse, request: Request, said: str) -> Usage:
        if not last.prompt_eval_count or last.eval_count is None:
            return estimated_usage(self.name, request, said)
        return usage(self.name, Counts(last.prompt_eval_count, last.eval_count))

    def _translate(self, error: Exception) -> TransportError | None:
        import ollama

        if isinstance(error, ollama.ResponseError):
            status = error.status_code if error.status_code > 0 else None
            return status_fault(self._service, status, str(error.error))
        return connection_fault(self._service, error)


def _pieces(message: ollama.Message, calls: Calls) -> Iterator[Chunk]:
    """Yield what is new: thoughts, words, then calls, which come whole."""
    if message.thinking:
        yield Chunk(thinking=message.thinking)
    if message.content:
        yield calls.prose(message.content)
    for call in message.tool_calls or ():
        yield calls.whole(call.function.name, json.dumps(call.function.arguments, ensure_ascii=False))


_PROBE_S = 2.0
_NOT_FOR_CHAT = ("embed", "bert", "rerank")


@dataclass(frozen=True)
class InstalledModel:
    """A model that the server holds; `size` in bytes."""

    name: str
    size: int


async def installed_models(url: str) -> list[InstalledModel]:
    """Ask the server for its models.

    Raises:
        ModelError: it does not answer, or not as Ollama does.
    """
    unopened = httpx.AsyncClient(timeout=_PROBE_S, trust_env=not is_loopback(url))
    try:
        async with unopened as client:
            answer = await client.get(f"{url}/api/tags")
            answer.raise_for_status()
            return [InstalledModel(str(model["name"]), int(model["size"])) for model in answer.json()["models"]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        is_here = is_loopback(url)
        start = "start it with: ollama serve" if is_here else "start it there with: OLLAMA_HOST=0.0.0.0 ollama serve"
        is_no_reply = isinstance(error, (httpx.HTTPError, httpx.InvalidURL))
        why = f"{type(error).__name__}: {error}".removesuffix(": ") if is_no_reply else "something else does"
        hint = hopeless_in(why) or hung_up(why, url) or start
        raise ModelError(f"no Ollama answers at {shown(url)} ({flattened(why)})", hint=hint) from None


def pick(models: list[InstalledModel], wanted: str | None) -> str:
    """Return the model to use: the wanted one, else the largest that can chat and runs here.

    Raises:
        ModelError: there is none.
    """
    if wanted is not None:
        return _wanted(models, wanted)
    suitable = [model for model in models if _suits(model.name)]
    if not suitable:
        raise ModelError("Ollama has no model to chat with", hint="get one, as with: ollama pull qwen3-coder")
    return max(suitable, key=lambda model: model.size).name


def _wanted(models: list[InstalledModel], wanted: str) -> str:
    names = [model.name for model in models]
    if wanted in names or f"{wanted}:latest" in names:
        return wanted
    near = get_close_matches(wanted, names, n=1)
    meant = f"did you mean '{near[0]}'? Otherwise " if near else ""
    raise ModelError(f"Ollama has no model '{wanted}'", hint=f"{meant}get it with: ollama pull {wanted}")


def _suits(name: str) -> bool:
    return not name.endswith("cloud") and not any(word in name.lower() for word in _NOT_FOR_CHAT)
