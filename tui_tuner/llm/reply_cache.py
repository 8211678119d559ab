"""Replies of a model kept across sessions: the same question to the same model is answered without a call."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Protocol

from tui_tuner.errors import UserError
from tui_tuner.llm.base import Backend, Chunk, Message, Reply, Request, Stop, Usage
from tui_tuner.llm.streams import closing

NOTICE = "a cached reply to the very same prompt: it cost nothing"
_PIECE = 64  # characters


class ReplyStore(Protocol):
    """Where replies are kept."""

    def get(self, key: str) -> Reply | None:
        """The reply under a key.

        Raises:
            UserError: the store cannot be read.
        """
        ...

    def put(self, key: str, model: str, request: Request, reply: Reply) -> None:
        """Keep a reply under a key.

        Raises:
            UserError: the store cannot be written.
        """
        ...


class CachedBackend:
    """A back end whose complete replies are kept; a kept one is streamed again.

    A question that is put again in one session gets another reply than the first time: how often it was answered in
    this session is a part of its key.

    Args:
        settings: what determines a reply beside model and request, as the temperature.
        answered: what the model was asked in this session before it was resumed.
    """

    def __init__(
        self,
        backend: Backend,
        store: ReplyStore,
        settings: Mapping[str, object],
        answered: Iterable[tuple[str, tuple[Message, ...]]] = (),
    ) -> None:
        self._backend = backend
        self._store = store
        self._settings = dict(settings)
        self._answered = Counter(answered)
        self._usable = True
        self.name = backend.name
        self.context_tokens = backend.context_tokens

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Yield the kept reply, or the model's; see `Backend.stream`."""
        key = self._key(request)
        known, warning = await self._kept(key)
        chunks = self._asked(key, request, warning) if known is None else _again(known)
        async with closing(chunks):
            async for chunk in chunks:
                if chunk.stop is not None:
                    self._answered[request.purpose, request.messages] += 1
                yield chunk

    async def aclose(self) -> None:
        """Close connections."""
        await self._backend.aclose()

    def _key(self, request: Request) -> str:
        occurrence = self._answered[request.purpose, request.messages] + 1
        content = [self.name, self._settings, asdict(request), occurrence]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    async def _kept(self, key: str) -> tuple[Reply | None, str]:
        """The kept reply if there is one, and what went wrong in looking for it."""
        if not self._usable:
            return None, ""
        try:
            return await asyncio.to_thread(self._store.get, key), ""
        except UserError as error:
            return None, self._gives_up(error)

    async def _asked(self, key: str, request: Request, warning: str) -> AsyncGenerator[Chunk]:
        text, thinking = "", ""
        async with closing(self._backend.stream(request)) as chunks:
            async for chunk in chunks:
                self.context_tokens = self._backend.context_tokens
                text, thinking = text + chunk.text, thinking + chunk.thinking
                if chunk.stop is Stop.COMPLETE and text.strip() and self._usable:
                    reply = Reply(text, thinking, chunk.stop, chunk.usage or Usage())
                    warning = await self._keep(key, request, reply)
                told = "; ".join(filter(None, (chunk.notice, warning)))
                yield chunk if chunk.stop is None else replace(chunk, notice=told)

    async def _keep(self, key: str, request: Request, reply: Reply) -> str:
        try:
            await asyncio.to_thread(self._store.put, key, self.name, request, reply)
        except UserError as error:
            return self._gives_up(error)
        return ""

    def _gives_up(self, error: UserError) -> str:
        self._usable = False
        return f"no replies are cached in this session: {error}"


async def _again(reply: Reply) -> AsyncGenerator[Chunk]:
    for piece in _pieces(reply.thinking):
        yield Chunk(thinking=piece)
    for piece in _pieces(reply.text):
        yield Chunk(piece)
    yield Chunk(stop=reply.stop, usage=replace(reply.usage, cost=0.0), notice=NOTICE)


def _pieces(text: str) -> Iterator[str]:
    yield from (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
