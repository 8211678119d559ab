"""From a stream of chunks to one reply."""

from __future__ import annotations

from collections.abc import Callable

from tui_tuner.llm.base import Backend, Chunk, Reply, Request, Stop, Usage
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.prices import estimated_usage
from tui_tuner.llm.streams import closing

_OPEN, _CLOSE = "<think>", "</think>"


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
    answer, aside = split_thinking("".join(text))
    return Reply(answer, "".join(thinking) + aside, stop, usage, notice)


def split_thinking(text: str) -> tuple[str, str]:
    """Split a reply into answer and thoughts, where a model writes its thoughts as `<think>` blocks.

    Tags inside an answer that begins as JSON or as a fenced block belong to the answer. A
    template may have opened the first block itself, so a closing tag alone ends one too; a
    block that never closes takes the rest.
    """
    answer, thoughts = text.lstrip(), ""
    while not answer.startswith(("{", "```")) and _CLOSE in answer:
        thought, _, rest = answer.partition(_CLOSE)
        thoughts += thought.replace(_OPEN, "", 1)
        answer = rest.lstrip()
    if answer.startswith(_OPEN):
        return "", thoughts + answer.removeprefix(_OPEN)
    return (answer, thoughts) if thoughts else (text, "")
