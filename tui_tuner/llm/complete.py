"""From a stream of chunks to one reply."""

from __future__ import annotations

from collections.abc import Callable

from tui_tuner.llm.base import Backend, Chunk, Reply, Request, Stop, Usage
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.prices import estimated_usage
from tui_tuner.llm.streams import closing
from tui_tuner.llm.thinking import split_thinking


async def complete(backend: Backend, request: Request, on_chunk: Callable[[Chunk], None] | None = None) -> Reply:
    """Send the request and wait for the whole reply.

    Args:
        on_chunk: called with each piece as it arrives.

    Raises:
        TransportError: no reply, or one that broke off; its `usage` books what had arrived.
    """
    text: list[str] = []
    thinking: list[str] = []
    stop, usage, notice = Stop.COMPLETE, Usage(), ""
    try:
        async with closing(backend.stream(request)) as chunks:
            async for chunk in chunks:
                text.append(chunk.text)
                thinking.append(chunk.thinking)
                stop, usage, notice = chunk.stop or stop, chunk.usage or usage, chunk.notice or notice
                if on_chunk is not None:
                    on_chunk(chunk)
    except TransportError as error:
        said = "".join(thinking + text)
        if said and error.usage is None:
            error.usage = estimated_usage(backend.name, request, said)
        raise
    answer, aside = split_thinking(_whole(text))
    return Reply(answer, _whole(thinking) + aside, stop, usage, notice)


def _whole(pieces: list[str]) -> str:
    """The pieces as one text; half of a character pair, which no file can hold, becomes a question mark."""
    return "".join(pieces).encode("utf-8", "replace").decode("utf-8")
