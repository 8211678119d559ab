"""What goes wrong below a reply, so that `except` is a choice and not research.

TransportError
 +- Unreachable       no connection (retryable)
 +- ModelTimedOut     no answer, or no next word, within the limit (retryable)
 +- RateLimited       too many requests; may say how long to wait (retryable)
 +- ServerFault       the provider failed: 5xx, overloaded, a program's exit status (retryable)
 +- BrokenOff         the stream ended without a stop reason (retryable)
 +- ContextTooLong    the prompt does not fit, or was cut silently
 +- KeyRefused        no key, a wrong one, or an account without credit
 +- RequestRefused    the provider does not take this request: unknown model, bad parameter
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tui_tuner.llm.base import Usage
from tui_tuner.llm.ways import Way
from tui_tuner.text import clean, redact

_EXCERPT = 300


@dataclass(frozen=True)
class Site:
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
        site: whom we talked to.
        status: HTTP status or exit status, where there is one.
        body: what the provider said; kept as a short, cleaned excerpt without keys.

    Attributes:
        usage: what the failed call cost, where that is known or estimated.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, reason: str, site: Site, *, status: int | None = None, body: str = "") -> None:
        self.reason = redact(clean(reason), secrets=site.secrets)
        self.provider = site.provider
        self.endpoint = site.endpoint
        self.status = status
        # Redacted before it is cut: half a key would no longer look like one.
        self.body = " ".join(redact(clean(body), secrets=site.secrets).split())[:_EXCERPT]
        self.usage: Usage | None = None
        super().__init__(str(self))

    def __str__(self) -> str:
        details = [self.endpoint] if self.endpoint else []
        details += [] if self.status is None else [f"status {self.status}"]
        place = f" ({', '.join(details)})" if details else ""
        return f"{self.provider}: {self.reason}{place}" + (f": {self.body}" if self.body else "")


class Unreachable(TransportError):
    """No connection."""

    retryable = True


class ModelTimedOut(TransportError):
    """No answer, or no next word, within the limit."""

    retryable = True


class RateLimited(TransportError):
    """Too many requests.

    Attributes:
        retry_after: seconds to wait, where the provider says so.
    """

    retryable = True

    def __init__(
        self, reason: str, site: Site, *, status: int | None = None, body: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(reason, site, status=status, body=body)
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
        site: Site,
        *,
        status: int | None = None,
        body: str = "",
        ways: frozenset[Way] = frozenset(),
    ) -> None:
        super().__init__(reason, site, status=status, body=body)
        self.ways = ways
