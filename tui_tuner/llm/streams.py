"""What all streams share: time limits, translated errors, and proof that the reply is whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from tui_tuner.llm.base import Chunk
from tui_tuner.llm.errors import BrokenOff, ModelTimedOut, Site, TransportError

T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """Time limits of a stream, in seconds: until its first words, and between words."""

    first_s: float
    between_s: float


@asynccontextmanager
async def closing(items: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T]]:
    """Close the stream on leaving, so that an abandoned one does not keep its connection."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


async def guarded(
    chunks: AsyncIterator[Chunk], site: Site, pace: Pace, translate: Callable[[Exception], TransportError | None]
) -> AsyncGenerator[Chunk]:
    """Yield the chunks of an adapter under the promises of `Backend.stream`.

    Args:
        translate: returns our error for one of the client's, None for one it does not know.

    Raises:
        TransportError: as translated; ModelTimedOut by `pace`; BrokenOff without a stop reason.
    """
    stopped = False
    try:
        async with closing(paced(chunks, pace)) as timed:
            async for chunk in timed:
                stopped = stopped or chunk.stop is not None
                yield chunk
    except TimeoutError:
        raise ModelTimedOut("the model fell silent", site) from None
    except TransportError:
        raise
    except Exception as error:
        known = translate(error)
        if known is None:
            raise
        # The client's own error may hold the request with its key: it must not be chained.
        raise known from None
    if not stopped:
        raise BrokenOff("the reply ended without a stop reason", site)


async def paced(chunks: AsyncIterator[Chunk], pace: Pace) -> AsyncGenerator[Chunk]:
    """Yield the chunks; TimeoutError when one is late."""
    limit = pace.first_s
    async with closing(chunks):
        while True:
            async with asyncio.timeout(limit):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield chunk
            limit = pace.between_s
