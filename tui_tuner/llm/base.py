"""The seam between the session and a language model: one request in, a stream of chunks out."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Request:
    """All that determines a reply.

    Attributes:
        purpose: what is asked for, as in "one_prompt"; names the prompt's template.
        schema: JSON schema of the reply, None for free text.
        max_tokens: limit of the reply.
    """

    purpose: str
    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    max_tokens: int = 8192


@dataclass(frozen=True)
class Usage:
    """Tokens of a call and its price.

    Attributes:
        cost: US dollars; None where the price is unknown.
        estimated: whether the counts are ours and not the provider's.
    """

    input: int = 0
    output: int = 0
    cost: float | None = 0.0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(self.input + other.input, self.output + other.output, cost, self.estimated or other.estimated)


class Stop(StrEnum):
    """Why a reply ended."""

    COMPLETE = "complete"
    LENGTH = "length"  # cut at max_tokens or at the end of the context
    REFUSED = "refused"


@dataclass(frozen=True)
class Chunk:
    """A piece of a streamed reply; the last one carries `stop` and `usage`.

    Attributes:
        thinking: reasoning, shown to the user and never parsed.
        notice: what the user should know about this reply.
    """

    text: str = ""
    thinking: str = ""
    stop: Stop | None = None
    usage: Usage | None = None
    notice: str = ""


class Backend(Protocol):
    """A language model.

    Attributes:
        name: provider and model as the user writes them, "ollama:qwen3-coder".
        context_tokens: how many tokens prompt and reply may have together; None if unknown.
    """

    name: str
    context_tokens: int | None

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Send the request and yield its reply; the last chunk has a `stop`.

        Raises:
            tui_tuner.llm.errors.TransportError: no reply, or one that broke off.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


@dataclass(frozen=True)
class Reply:
    """A complete reply."""

    text: str
    thinking: str = ""
    stop: Stop = Stop.COMPLETE
    usage: Usage = field(default_factory=Usage)
    notice: str = ""


Structured = Literal["auto", "schema", "tools", "text"]
"""What the user may set."""


class Way(StrEnum):
    """How a typed reply is asked for."""

    SCHEMA = "schema"  # the provider holds the model to the JSON schema
    FORCED_TOOL = "forced tool"  # the reply is the call of a tool, which the model has to make
    OFFERED_TOOL = "offered tool"  # the same, but the model may answer in prose
    TEXT = "text"  # the schema stands in the prompt, the reply in prose


_TOOLS = (Way.FORCED_TOOL, Way.OFFERED_TOOL)
_STEPS: dict[Structured, tuple[Way, ...]] = {
    "auto": (Way.SCHEMA, *_TOOLS, Way.TEXT),
    "schema": (Way.SCHEMA,),
    "tools": _TOOLS,
    "text": (Way.TEXT,),
}
_REFUSALS = (400, 404, 422)
_ABOUT_SCHEMA = re.compile(
    r"response[_ ]format|json[_ ]schema|structured[_ ]output|output[_ ](?:config|format)"
    r"|request\.format|xgrammar|(?:compiled|parse|parsing) grammar"
)
# Not within a name, as in "no model 'gpt-tools'" or "tools-7b".
_ABOUT_TOOLS = re.compile(r"(?<![\w/:.-])tools?(?!\w|[/-]|:\w)|tool[-_ ](?:choice|call)|function[_ ]call")
# Some servers repeat the request in their refusal; its own words say nothing.
_ECHO = re.compile(r"""['"]input\\*['"]\s*:""")


def steps(structured: Structured, *, forces_tools: bool) -> tuple[Way, ...]:
    """Return the ways to try, in their order.

    Args:
        forces_tools: whether the provider's API can make a model call a tool.
    """
    return tuple(way for way in _STEPS[structured] if forces_tools or way is not Way.FORCED_TOOL)


def refused_ways(status: int | None, body: str) -> frozenset[Way]:
    """Return the ways of asking that a refusal with this HTTP status and body is about; mostly none."""
    if status not in _REFUSALS:
        return frozenset()
    said = _ECHO.split(body.lower(), maxsplit=1)[0]
    about_schema = {Way.SCHEMA} if _ABOUT_SCHEMA.search(said) else set()
    return frozenset(about_schema.union(_TOOLS if _ABOUT_TOOLS.search(said) else ()))
