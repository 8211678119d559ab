"""What goes wrong below a reply, and how the errors of clients and HTTP libraries become these few.

TransportError
 +- Unreachable       no connection (retryable)
 +- ModelTimedOut     no answer, or no next word, within the limit (retryable)
 |   +- TookTooLong   no whole reply within the limit of a call
 +- RateLimited       too many requests; may say how long to wait (retryable)
 +- ServerFault       the provider failed: 5xx, overloaded, a program's exit status (retryable)
 +- BrokenOff         the stream ended without a stop reason (retryable)
 +- ContextTooLong    the prompt does not fit, or was cut silently
 +- NoWay             address, proxy, certificate or program are such that no connection can come of them
 +- KeyRefused        no key, a wrong one, or an account without credit
 +- RequestRefused    the provider does not take this request: unknown model, bad parameter
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import ClassVar

from tui_tuner.format import duration
from tui_tuner.llm import Usage, Way, is_loopback, refused_ways
from tui_tuner.text import clean, redact

_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context window",
    "context length",
    "available context size",
    "context limit",
    "maximum prompt length",
    "maximum number of tokens allowed",
    "prompt is too long",
    "input is too long",
)
_TOO_LONG_TOLD = (
    "the prompt is too long for the model; lower max_tokens under [model], or name a model with more context"
)
_OUT_OF_CREDIT = ("insufficient_quota", "credit balance")
_PROXY = "the proxy wants to know who you are, as in HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"
_TLS = "TLS is spoken there; is the address https:// instead of http://?"
_NO_TLS = "no TLS is spoken there; is the address http:// instead of https://?"
_NO_TLS = "no TLS is spoken there; is the address http:// instead of https://?"
_HOPELESS = {
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not trusted; SSL_CERT_FILE can name the one of its authority",
    **dict.fromkeys(("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"), _NO_TLS),
    "ProxyError: 407": _PROXY,
}


def status_fault(
    service: Service, status: int | None, body: str, headers: Mapping[str, str] | None = None
) -> TransportError:
    """Return the error for a refusal with this HTTP status (None: unknown) and this body."""
    said = body.lower()
    if status == 413 or (status not in (429, 401, 403) and any(words in said for words in _TOO_LONG)):
        return ContextTooLong(_TOO_LONG_TOLD, service, status=status, body=body)
    if status in (401, 402, 403) or any(words in said for words in _OUT_OF_CREDIT):
        return KeyRefused(_key_told(service, status), service, status=status, body=body)
    if status == 429:
        wait = _retry_after(headers or {})
        asked = "" if wait is None else f", it asks to wait {duration(wait)}"
        return RateLimited(f"too many requests{asked}", service, status=status, body=body, retry_after=wait)
    if status is not None and 300 <= status < 500 and status not in (408, 409, 425):
        ways = refused_ways(status, body)
        return RequestRefused(_refusal_told(service, status, said), service, status=status, body=body, ways=ways)
    return ServerFault("the server failed", service, status=status, body=body)


def _key_told(service: Service, status: int | None) -> str:
    name = f"{service.provider.upper()}_API_KEY"
    if status != 401:
        return "the key or the account was refused"
    return f"the key was refused; is {name} the right one?" if service.secrets else f"a key is wanted; set {name}"


def _refusal_told(service: Service, status: int, said: str) -> str:
    if status == 407:
        return _PROXY
    if "http request" in said and "https" in said:  # the words of nginx, Go and Apache differ
        return _TLS
    if status != 404:
        return "the request was refused"
    has_path = service.provider != "openai" or service.endpoint.rstrip("/").endswith("/v1")
    return "there is no such model or address" + ("" if has_path else ", which mostly ends in /v1")


def refuse_page(service: Service, headers: Mapping[str, str]) -> None:
    """Tell a page or an object that came with success, but without a word, from a stream that broke off.

    Raises:
        RequestRefused: it was one.
    """
    kind = headers.get("content-type", "")
    if "html" in kind or "json" in kind:
        raise _page(kind, service)


def _page(kind: str, service: Service) -> RequestRefused:
    return RequestRefused(f"no stream of words came, but {kind}; is this the address of its API?", service)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def connection_fault(service: Service, error: BaseException) -> TransportError | None:
    """Return the error for a failed connection or an unreadable stream; None if it is neither.

    Kinds are told by class name, since httpx and httpx2 have the same names and unrelated classes.
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    what = f"{type(error).__name__}: {error}"
    if hopeless := hopeless_in(what):
        return NoWay(hopeless, service, body=what)
    if kinds & {"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol", "InvalidURL", "ConnectionError"}:
        return Unreachable(_unreachable_told(service), service, body=what)
    if kinds & {"TimeoutException", "APITimeoutError", "TimeoutError"}:
        return ModelTimedOut("no answer within the time limit", service, body=what)
    if isinstance(error, json.JSONDecodeError) and error.doc.lstrip().startswith("<"):
        return _page("a page of HTML", service)
    if isinstance(error, UnicodeDecodeError):
        return BrokenOff("the reply is not UTF-8 text", service, body=what)
    if kinds & {"HTTPError", "StreamError", "APIConnectionError", "EndOfStream", "OSError", "ValueError"}:
        return BrokenOff("the connection broke off", service, body=what)
    return None


def _unreachable_told(service: Service) -> str:
    is_here = is_loopback(service.endpoint)
    return f"no connection; is {'the server running' if is_here else 'the address right, and the network up'}?"


def hopeless_in(said: str) -> str:
    """The way out where a client's error says that no connection can come of this address; else nothing."""
    return next((told for words, told in _HOPELESS.items() if words in said), "")


def unanswered(error: TransportError) -> TransportError:
    """The error of a call of which no word came, with the likely reason where the server hung up."""
    if isinstance(error, BrokenOff) and (likely := hung_up(error.body, error.endpoint)):
        error.reason = f"the server hung up; {likely}"
    return error


def hung_up(said: str, url: str) -> str:
    """What is likely where a client says that a server hung up without a word; nothing where it says another thing."""
    is_plain = url.startswith("http://") and said.startswith(("ReadError", "RemoteProtocolError"))
    return "does it speak TLS, so that its address is https:// instead of http://?" if is_plain else ""


_EXCERPT = 300
_BUSY = (429, 502, 503, 504, 529)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def in_words(body: str) -> str:
    """Return what a refusal says to people: the message in its JSON, the title of a page, else all of it."""
    if title := _TITLE.search(body):
        return title[1]
    try:
        return _message(json.loads(body)) or body
    except (ValueError, RecursionError):
        return body


def _message(said: object) -> str:
    match said:
        case str():
            return said
        case [one] | {"error": one}:
            return _message(one)
        case {"message": str(message), "metadata": {"raw": str(raw)}}:  # of whom OpenRouter asked
            return f"{message}: {in_words(raw)}"
        case {"message": str(message)} | {"detail": str(message)}:
            return message
    return ""


@dataclass(frozen=True)
class Service:
    """Whom an adapter talks to.

    Attributes:
        provider: as in "openai".
        endpoint: URL without query and user, or a program's name.
        secrets: what must not appear in any message.
    """

    provider: str
    endpoint: str
    secrets: tuple[str, ...] = field(default=(), repr=False)


class TransportError(Exception):
    """No reply, or one that cannot be trusted.

    Args:
        reason: what happened, in a few words.
        service: whom we talked to.
        status: HTTP status or exit status, where there is one.
        body: what the provider said; kept in its words for people, short, cleaned and without keys.

    Attributes:
        usage: what the failed call cost, where that is known or estimated.
    """

    retryable: ClassVar[bool] = False
    is_of_network: ClassVar[bool] = False
    """Whether there was no connection: it may come back where there has been one."""

    def __init__(self, reason: str, service: Service, *, status: int | None = None, body: str = "") -> None:
        self.reason = redact(clean(reason), secrets=service.secrets)
        self.provider = service.provider
        self.endpoint = service.endpoint
        self.status = status
        # Redacted before it is cut: half a key would no longer look like one.
        self.body = " ".join(redact(clean(in_words(body)), secrets=service.secrets).split())[:_EXCERPT]
        self.usage: Usage | None = None
        super().__init__(str(self))

    @property
    def passes(self) -> bool:
        """Whether the provider has too much to do, or is just starting, which passes while one waits."""
        return self.retryable and self.status in _BUSY

    def __str__(self) -> str:
        details = [self.endpoint] if self.endpoint else []
        details += [] if self.status is None else [f"status {self.status}"]
        place = f" ({', '.join(details)})" if details else ""
        return f"{self.provider}: {self.reason}{place}" + (f": {self.body}" if self.body else "")


class Unreachable(TransportError):
    """No connection."""

    retryable = True
    is_of_network = True


class NoWay(TransportError):
    """Address, proxy, certificate or program are such that no connection can come of them."""


class ModelTimedOut(TransportError):
    """No answer, or no next word, within the limit."""

    retryable = True


class TookTooLong(ModelTimedOut):
    """No whole reply within the limit of a call, its retries included."""

    retryable = False


class RateLimited(TransportError):
    """Too many requests.

    Attributes:
        retry_after: seconds to wait, where the provider says so.
    """

    retryable = True

    def __init__(
        self,
        reason: str,
        service: Service,
        *,
        status: int | None = None,
        body: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason, service, status=status, body=body)
        self.retry_after = retry_after


class ServerFault(TransportError):
    """The provider failed."""

    retryable = True


class BrokenOff(TransportError):
    """The stream ended without a stop reason."""

    retryable = True


class ContextTooLong(TransportError):
    """The prompt does not fit into the model's context, or was cut without a word."""


class KeyRefused(TransportError):
    """No key, a wrong one, or an account without credit."""


class RequestRefused(TransportError):
    """The provider does not take this request.

    Attributes:
        ways: the ways of asking for a typed reply that the refusal is about; mostly none.
    """

    def __init__(
        self,
        reason: str,
        service: Service,
        *,
        status: int | None = None,
        body: str = "",
        ways: frozenset[Way] = frozenset(),
    ) -> None:
        super().__init__(reason, service, status=status, body=body)
        self.ways = ways
