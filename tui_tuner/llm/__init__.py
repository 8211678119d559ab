"""The seam between the session and a language model: its settings, one request in, a stream of chunks out."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field


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


def prompt_text(messages: Sequence[Message]) -> str:
    """A conversation as one text, each message under its role."""
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


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
        notice: what the user should know about this reply; before its last chunk, why it takes so long.
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

    async def aclose(self) -> None:
        """Close connections."""


@dataclass(frozen=True)
class Reply:
    """A complete reply."""

    text: str
    thinking: str = ""
    stop: Stop = Stop.COMPLETE
    usage: Usage = field(default_factory=Usage)
    notice: str = ""


Structured = Literal["auto", "schema", "tools", "text", "fenced"]
"""What the user may set."""


class Way(StrEnum):
    """How a typed reply is asked for."""

    SCHEMA = "schema"  # the provider holds the model to the JSON schema
    FORCED_TOOL = "forced tool"  # the reply is the call of a tool, which the model has to make
    OFFERED_TOOL = "offered tool"  # the same, but the model may answer in prose
    TEXT = "text"  # the schema stands in the prompt, the reply in prose
    FENCED = "fenced"  # the same, but code stands in a fenced block before the JSON, not escaped inside it


_TOOLS = (Way.FORCED_TOOL, Way.OFFERED_TOOL)
_STEPS: dict[Structured, tuple[Way, ...]] = {
    "auto": (Way.SCHEMA, *_TOOLS, Way.TEXT),
    "schema": (Way.SCHEMA,),
    "tools": _TOOLS,
    "text": (Way.TEXT,),
    "fenced": (Way.FENCED,),
}
CODE = "code"
"""The field of a reply that may stand in a fenced block beside its JSON."""
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


class ModelSettings(BaseModel):
    """Settings of the model; none of them is a key, since keys come from environment and keyring only.

    Attributes:
        model: the model's name at its provider; None: a default, or the largest that Ollama has.
        base_url: another server that speaks the provider's API; None: the provider's own.
        temperature: None: the provider's default, which some models insist on.
        context_tokens: what prompt and reply may have together, for Ollama; rounded up to a power of two.
        max_tokens: limit of one reply.
        structured: how a typed reply is asked for; `auto` takes the strictest way that the server takes.
        timeout_s: wall-clock limit of one call with its retries, seconds.
        cache_replies: whether complete replies are kept and given again to the same prompt.
        command: the program for the `command` provider, with its arguments.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://\S+$")
    temperature: float | None = Field(default=None, ge=0, le=2)
    context_tokens: int = Field(default=32768, ge=2048, le=2**20)
    max_tokens: int = Field(default=16384, ge=256)
    structured: Structured = "auto"
    timeout_s: float = Field(default=900.0, gt=0)
    cache_replies: bool = False
    command: str | None = None


def shown(url: str) -> str:
    """Return the URL without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def host_of(url: str) -> str:
    """Return host and port of the URL as written."""
    return urlsplit(url).netloc.rpartition("@")[2]


def is_loopback(address: str) -> bool:
    """Whether a URL or `host:port` is this machine."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    host = parts.hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def ollama_url(address: str | None) -> str:
    """Return the URL of an Ollama server from what OLLAMA_HOST may hold, without a final slash.

    Nor with the `/v1` that the server has for clients of OpenAI's.

    Raises:
        ValueError: it is no address.
    """
    given = (address or "").strip().rstrip("/").removesuffix("/v1")
    _scheme, separator, rest = given.partition("://")
    if separator:
        _ = urlsplit(given).port  # what is no address is told where it is set
        return given
    rest = given or "127.0.0.1"
    if rest.startswith(":"):
        rest = f"127.0.0.1{rest}"
    parts = urlsplit(f"//{rest}")
    host, path = parts.netloc, parts.path
    if parts.port is None:
        host = f"{host}:11434"
    # A server told to listen everywhere is reached here.
    return f"http://{host.replace('0.0.0.0:', '127.0.0.1:')}{path}"
