"""One retry policy around any back end: few tries, growing pauses, a limit on the whole call."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from tui_tuner.llm.base import Backend, Chunk, Request
from tui_tuner.llm.errors import ModelTimedOut, RateLimited, Site, TransportError
from tui_tuner.llm.streams import closing

OnRetry = Callable[[int, int, float, TransportError], None]
"""Called before a pause with: the next attempt, of how many, the pause in seconds, what went wrong."""


@dataclass(frozen=True)
class BackoffPolicy:
    """How often and how fast.

    Attributes:
        tries: attempts at most, the first included.
        base_s: first pause in seconds; each further one is twice as long, all with jitter.
        longest_s: the longest pause of our own choice, in seconds.
        limit_s: wall-clock limit of a call, pauses included, in seconds.
    """

    tries: int = 3
    base_s: float = 0.5
    longest_s: float = 8.0
    limit_s: float = 900.0

    def pause(self, attempt: int, error: TransportError) -> float:
        """Return the seconds to wait after this attempt (from 1) failed."""
        jitter = random.uniform(0.5, 1.5)  # noqa: S311 (spreads load, guards nothing)
        own = min(self.longest_s, self.base_s * 2.0 ** (attempt - 1)) * jitter
        asked = error.retry_after if isinstance(error, RateLimited) else None
        return own if asked is None else max(own, asked)


class RetryingBackend:
    """A back end that tries again; a reply of which words were already shown is never repeated."""

    def __init__(self, backend: Backend, policy: BackoffPolicy | None = None, on_retry: OnRetry | None = None) -> None:
        self._backend = backend
        self._policy = policy or BackoffPolicy()
        self._on_retry = on_retry
        self.name = backend.name
        self.context_tokens = backend.context_tokens

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Send the request, again where that can help; see `Backend.stream`."""
        deadline = asyncio.get_running_loop().time() + self._policy.limit_s
        attempt, begun = 1, False
        while True:
            try:
                async with closing(self._until(deadline, request)) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield chunk
                return
            except TransportError as error:
                if begun or not await self._paused(attempt, error, deadline):
                    raise
            attempt += 1

    async def aclose(self) -> None:
        """Close connections."""
        await self._backend.aclose()

    async def _until(self, deadline: float, request: Request) -> AsyncGenerator[Chunk]:
        async with closing(self._backend.stream(request)) as chunks:
            while True:
                try:
                    async with asyncio.timeout_at(deadline):
                        chunk = await anext(chunks, None)
                except TimeoutError:
                    reason = f"no whole reply within {self._policy.limit_s:g} s"
                    raise ModelTimedOut(reason, Site(self.name, "")) from None
                # The true size of the context is known only after a call.
                self.context_tokens = self._backend.context_tokens
                if chunk is None:
                    return
                yield chunk

    async def _paused(self, attempt: int, error: TransportError, deadline: float) -> bool:
        """Wait before the next attempt; False if there shall be none."""
        policy = self._policy
        pause = policy.pause(attempt, error)
        left = deadline - asyncio.get_running_loop().time()
        if not error.retryable or attempt >= policy.tries or pause >= left:
            return False
        if self._on_retry is not None:
            self._on_retry(attempt + 1, policy.tries, pause, error)
        await asyncio.sleep(pause)
        return True
