"""The user's settings of the language model, and what may be shown of an address."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.llm.base import Structured


class ModelSettings(BaseModel):
    """Settings of the model; none of them is a key, since keys come from the environment only.

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
    """Return the URL of an Ollama server from what OLLAMA_HOST may hold, without a final slash."""
    given = (address or "").strip().rstrip("/")
    _scheme, separator, rest = given.partition("://")
    if separator:
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
