"""Asking for a typed reply: the schema, the tool, and the ladder of ways from the strictest down."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from tui_tuner.llm import CODE, Chunk, Message, Request, Structured, Way, is_loopback, steps
from tui_tuner.llm.errors import RequestRefused, Service, TransportError
from tui_tuner.llm.streams import Pace, closing, guarded

Send = Callable[[Request, Way], AsyncIterator[Chunk]]
"""One request, asked in one way."""

CONNECT_S = 5
PACE = Pace(first_s=600, between_s=90)
"""Of services: a reasoning model may think for minutes before its first word."""
_ASKED_BY = {
    Way.SCHEMA: "JSON by schema",
    Way.FORCED_TOOL: "tool calls",
    Way.OFFERED_TOOL: "tool calls",
    Way.TEXT: "text",
    Way.FENCED: "text",
}


class Ladder:
    """The ways of asking of one session; what the server refused is not tried again.

    Args:
        structured: the user's setting; only `auto` leads from one kind of way to another.
        forces_tools: whether the provider's API can make a model call a tool.
    """

    def __init__(self, structured: Structured, *, forces_tools: bool = True) -> None:
        self._ways = steps(structured, forces_tools=forces_tools)
        self._at = 0
        self._untold = ""

    async def stream(self, request: Request, send: Send) -> AsyncGenerator[Chunk]:
        """Yield the reply to a request, asked again in the next way where the server refuses this one.

        The way that gave a reply is kept. If it is of another kind than the one before, the
        reply's last chunk has a notice of it.

        Raises:
            TransportError: as `send` does.
        """
        ways = (Way.TEXT,) if request.schema is None else self._ways[self._at :]
        refusal: RequestRefused | None = None
        for way in ways:
            begun = False
            try:
                async with closing(send(request, way)) as chunks:
                    async for chunk in chunks:
                        # Kept only now: had the request another fault, no way of asking would have helped.
                        if not begun and refusal is not None:
                            self._keep(way, refusal)
                        begun = True
                        yield self._with_notice(chunk)
                return
            except RequestRefused as error:
                if begun or way is ways[-1] or way not in error.ways:
                    raise
                refusal = error

    def _keep(self, way: Way, refusal: RequestRefused) -> None:
        before, self._at = self._ways[self._at], self._ways.index(way)
        if _ASKED_BY[before] != _ASKED_BY[way]:
            self._untold = f"{refusal}. From now on replies are asked for as {_ASKED_BY[way]}."

    def _with_notice(self, chunk: Chunk) -> Chunk:
        # On the last chunk: a reply that breaks off before is lost, and its notices with it.
        if chunk.stop is None or not self._untold:
            return chunk
        notice, self._untold = self._untold, ""
        return replace(chunk, notice=notice)


def reached(url: str, pace: Pace, timeout: Callable[..., object]) -> dict[str, Any]:
    """How a client reaches its server: it follows no redirect, and asks no proxy, which cannot reach this machine's."""
    limits = timeout(pace.first_s, connect=CONNECT_S)
    return {"timeout": limits, "follow_redirects": False, "trust_env": not is_loopback(url)}


class HttpBackend(ABC):
    """What the adapters of servers have in common; how a request looks and how a reply comes is each one's own.

    Args:
        service: whom it talks to.
        pace: how long it may stay silent.
        ladder: its ways of asking for a typed reply.
    """

    context_tokens: int | None = None

    def __init__(self, service: Service, pace: Pace, ladder: Ladder) -> None:
        self._service, self._pace, self._ladder = service, pace, ladder

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Send the request and yield its reply; see `Backend.stream`."""
        return self._ladder.stream(request, self._send)

    def _send(self, request: Request, way: Way) -> AsyncIterator[Chunk]:
        return guarded(self._chunks(request, way), self._service, self._pace, self._translate)

    @abstractmethod
    def _chunks(self, request: Request, way: Way) -> AsyncIterator[Chunk]:
        """The reply as it comes, asked for in one way; see `guarded`."""

    @abstractmethod
    def _translate(self, error: Exception) -> TransportError | None:
        """Our error for one of the client's; None for one that it does not know."""


# Meant for validation here, and refused or ignored by one provider or another.
_DROPPED = frozenset(
    {
        "$defs", "title", "default", "examples", "discriminator", "format", "pattern", "multipleOf",
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
    }
)  # fmt: skip
_PLAIN = frozenset({"type", "description", "enum"})


@lru_cache(maxsize=64)
def schema_of(reply_type: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a reply: every field required, nothing extra, no references, no bounds.

    Raises:
        TypeError: the type has what providers do not share: free-key dictionaries, tuples of
            mixed types, fields of any type, recursion.
    """
    schema = reply_type.model_json_schema()
    return _reduced(schema, schema.get("$defs", {}), (reply_type.__name__,))


def schema_instruction(schema: dict[str, Any]) -> str:
    """Return the words that tell a model of the schema it may not see otherwise."""
    return (
        "Answer with one JSON object and nothing else, no prose and no fence around it. "
        f"It must follow this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def fence_instruction(schema: dict[str, Any]) -> str:
    """Return the words that ask for code in a fenced block, and for the rest as JSON of the schema without it.

    Models that write code inside JSON escape it wrongly, and some write it worse.
    """
    fields = {name: field for name, field in schema["properties"].items() if name != CODE}
    rest = schema | {"properties": fields, "required": list(fields)}
    return (
        f"Whatever was said of the form before, answer with two things. First the whole `{CODE}` in one fenced block, "
        "as it stands in a file, nothing escaped:\n```\n...\n```\n"
        f"Behind it one JSON object without `{CODE}`, and nothing else. "
        f"It must follow this JSON schema:\n{json.dumps(rest, ensure_ascii=False)}"
    )


def in_words(request: Request, *, fenced: bool = False) -> tuple[Message, ...]:
    """Return the messages with the schema in words behind the last, for models that are not shown it.

    Args:
        fenced: whether code is asked for in a fenced block, where the reply has any.
    """
    if request.schema is None:
        return request.messages
    *before, last = request.messages
    has_code = CODE in request.schema.get("properties", {})
    words = fence_instruction(request.schema) if fenced and has_code else schema_instruction(request.schema)
    return (*before, Message(last.role, f"{last.content}\n\n{words}"))


def _reduced(node: dict[str, Any], definitions: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in path:
            raise TypeError(f"{'.'.join(path)}: recursive replies are not supported")
        described = {key: value for key, value in node.items() if key == "description"}
        return _reduced(definitions[name], definitions, (*path, name)) | described
    result = {key: value for key, value in node.items() if key in _PLAIN}
    for key in node.keys() - _PLAIN - _DROPPED:
        result |= _reduced_keyword(key, node, definitions, path)
    if not result.keys() & {"type", "enum", "anyOf"}:
        raise TypeError(f"{'.'.join(path)}: a field needs one definite type")
    if result.get("type") == "object" and "properties" not in result:
        result |= _closed_object({}, path, node)
    return result


def _reduced_keyword(
    key: str, node: dict[str, Any], definitions: dict[str, Any], path: tuple[str, ...]
) -> dict[str, Any]:
    value = node[key]
    match key:
        case "const":
            return {"enum": [value]}
        case "anyOf" | "oneOf":
            return {"anyOf": [_reduced(choice, definitions, path) for choice in value]}
        case "items":
            return {"items": _reduced(value, definitions, (*path, "[]"))}
        case "properties":
            fields = {name: _reduced(field, definitions, (*path, name)) for name, field in value.items()}
            return _closed_object(fields, path, node)
        case "required":
            return {}
        case "additionalProperties" if value is False:
            return {}
    raise TypeError(f"{'.'.join(path)}: '{key}' is not supported by every provider; use a list of objects")


def _closed_object(fields: dict[str, Any], path: tuple[str, ...], node: dict[str, Any]) -> dict[str, Any]:
    if not fields and node.get("additionalProperties") is not False:
        raise TypeError(f"{'.'.join(path)}: a dictionary of free keys dies silently; use a list of objects")
    return {"properties": fields, "required": list(fields), "additionalProperties": False}


TOOL = "answer"
"""The name of the only tool that a model is given."""

TOOL_DESCRIPTION = "Gives your answer, whole, as its arguments. Call it exactly once."

_CALL = f"Answer with one call of the tool `{TOOL}` and nothing else."


def function_tool(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool as OpenAI and Ollama want it."""
    return {"type": "function", "function": {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": schema}}


def worded(request: Request, way: Way, *, shown: bool) -> tuple[Message, ...]:
    """Return the messages with what has to be said in words for this way of asking.

    Args:
        shown: whether the provider shows the model the schema, or the tool's parameters, in full.
    """
    if request.schema is None or (way is Way.SCHEMA and shown):
        return request.messages
    if way in (Way.SCHEMA, Way.TEXT, Way.FENCED):
        return in_words(request, fenced=way is Way.FENCED)
    *before, last = request.messages
    repeated = "" if shown else f"\nIf you cannot call it: {schema_instruction(request.schema)}"
    return (*before, Message(last.role, f"{last.content}\n\n{_CALL}{repeated}"))


class Calls:
    """Sorts what a model says in one reply: the arguments of the first call of our tool are its text.

    Prose before that call stays text, and the call then stands in a fenced block behind it, so
    that it is the call which is read. Without such a call the prose is the whole text. All else
    is shown and never read: calls of other tools, further calls of ours, prose after the call,
    and a call after prose that is JSON itself.
    """

    def __init__(self) -> None:
        self._identities: dict[int, str] = {}
        self._place: int | None = None
        self._answered = False
        self._first = ""  # character of the prose
        self._fenced = False

    def prose(self, text: str) -> Chunk:
        """Return the chunk for a piece of the reply's own text."""
        if self._answered:
            return Chunk(thinking=text)
        self._first = self._first or text.lstrip()[:1]
        return Chunk(text)

    def begin(self, place: int, name: str | None, identity: str | None = None) -> None:
        """Note the head of a call, which servers may repeat with each piece of it.

        Args:
            place: where it stands among the reply's calls.
            identity: tells calls apart for which a server gives the same place.
        """
        # Without a name it is no head; some servers invent a new identity for each piece.
        if not name or (place in self._identities and identity in (None, "", self._identities[place])):
            return
        self._identities[place] = identity or ""
        if place == self._place:
            self._place = None
        if name == TOOL and not self._answered and self._first != "{":
            self._answered, self._place = True, place

    def arguments(self, place: int, piece: str) -> Chunk:
        """Return the chunk for a piece of a call's arguments."""
        if place != self._place:
            return Chunk(thinking=piece)
        if self._first and not self._fenced:
            self._fenced = True
            return Chunk(f"\n```json\n{piece}")
        return Chunk(piece)

    def whole(self, name: str, arguments: str) -> Chunk:
        """Return the chunk for a call that came in one piece."""
        place = len(self._identities)
        self.begin(place, name)
        return self.arguments(place, arguments)

    def end(self) -> Chunk:
        """Return the chunk that closes the text."""
        return Chunk("\n```\n" if self._fenced else "")
