"""Back ends that say what a test tells them to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tui_tuner.llm import Chunk, Reply, Request, Stop, Usage
from tui_tuner.llm.errors import TransportError


class FakeBackend:
    """Answers each request with the next script: chunks to yield, errors to raise, numbers of seconds to wait."""

    def __init__(self, *scripts: Sequence[Chunk | TransportError | float]) -> None:
        self.name = "ollama:fake"
        self.context_tokens: int | None = 4096
        self.requests: list[Request] = []
        self.closed = False
        self._scripts = list(scripts)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        for item in self._scripts.pop(0):
            if isinstance(item, Chunk):
                yield item
            elif isinstance(item, TransportError):
                raise item
            else:
                await asyncio.sleep(item)

    async def aclose(self) -> None:
        self.closed = True


def said(text: str, thinking: str = "", stop: Stop = Stop.COMPLETE) -> list[Chunk]:
    return [Chunk(text, thinking), Chunk(stop=stop, usage=Usage(10, 5, 0.25))]


class FakeCall:
    """One complete call: gives the replies in order and keeps the requests."""

    def __init__(self, *replies: Reply | str) -> None:
        self.requests: list[Request] = []
        self._replies = list(replies)

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self._replies.pop(0)
        return Reply(reply, usage=Usage(10, 5, 0.25)) if isinstance(reply, str) else reply


def retries(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What the log says of calls that were tried again."""
    return [record.fields for record in caplog.records if record.message == "a call of the model is tried again"]
