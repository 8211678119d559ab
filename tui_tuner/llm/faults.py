"""From what clients and HTTP libraries raise to our own few errors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from tui_tuner.llm.errors import (
    BrokenOff,
    ContextTooLong,
    KeyRefused,
    ModelTimedOut,
    RateLimited,
    RequestRefused,
    ServerFault,
    Site,
    TransportError,
    Unreachable,
)
from tui_tuner.llm.ways import refused_ways

_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context window",
    "context length",
    "available context size",
    "prompt is too long",
    "input is too long",
)
_OUT_OF_CREDIT = ("insufficient_quota", "credit balance")


def status_fault(site: Site, status: int | None, body: str, headers: Mapping[str, str] | None = None) -> TransportError:
    """Return the error for a refusal with this HTTP status (None: unknown) and this body."""
    said = body.lower()
    if status == 413 or (status not in (429, 401, 403) and any(words in said for words in _TOO_LONG)):
        return ContextTooLong("the prompt is too long for the model", site, status=status, body=body)
    if status in (401, 402, 403) or any(words in said for words in _OUT_OF_CREDIT):
        return KeyRefused("the key or the account was refused", site, status=status, body=body)
    if status == 429:
        wait = _retry_after(headers or {})
        return RateLimited("too many requests", site, status=status, body=body, retry_after=wait)
    if status is not None and 300 <= status < 500 and status not in (408, 409, 425):
        ways = refused_ways(status, body)
        return RequestRefused("the request was refused", site, status=status, body=body, ways=ways)
    return ServerFault("the server failed", site, status=status, body=body)


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


def connection_fault(site: Site, error: BaseException) -> TransportError | None:
    """Return the error for a failed connection or an unreadable stream; None if it is neither.

    Kinds are told by class name, since httpx and httpx2 have the same names and unrelated classes.
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    what = f"{type(error).__name__}: {error}"
    if kinds & {"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol", "InvalidURL", "ConnectionError"}:
        return Unreachable("no connection", site, body=what)
    if kinds & {"TimeoutException", "APITimeoutError", "TimeoutError"}:
        return ModelTimedOut("no answer within the time limit", site, body=what)
    if kinds & {"HTTPError", "StreamError", "APIConnectionError", "EndOfStream", "OSError", "ValueError"}:
        return BrokenOff("the connection broke off", site, body=what)
    return None
