"""From the strictest way of asking for a typed reply down to the first that the server takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace

from tui_tuner.llm.base import Chunk, Request
from tui_tuner.llm.errors import RequestRefused
from tui_tuner.llm.streams import closing
from tui_tuner.llm.ways import Structured, Way, steps

Send = Callable[[Request, Way], AsyncIterator[Chunk]]
"""One request, asked in one way."""

_ASKED_BY = {
    Way.SCHEMA: "JSON by schema",
    Way.FORCED_TOOL: "tool calls",
    Way.OFFERED_TOOL: "tool calls",
    Way.TEXT: "text",
}


class Ladder:
    """The ways of asking of one session; what the server refused is not tried again.

    Args:
        structured: the user's setting; only `auto` leads from one kind of way to another.
        forces_tools: whether the provider's API can make a model call a tool.
    """

    def __init__(self, structured: Structured, *, forces_tools: bool = True) -> None:
        self._ways = steps(structured, forces_tools=forces_tools)
        self._at = 0
        self._untold = ""

    async def stream(self, request: Request, send: Send) -> AsyncGenerator[Chunk]:
        """Yield the reply to a request, asked again in the next way where the server refuses this one.

        The way that gave a reply is kept. If it is of another kind than the one before, the
        reply's last chunk has a notice of it.

        Raises:
            TransportError: as `send` does.
        """
        ways = (Way.TEXT,) if request.schema is None else self._ways[self._at :]
        refusal: RequestRefused | None = None
        for way in ways:
            begun = False
            try:
                async with closing(send(request, way)) as chunks:
                    async for chunk in chunks:
                        # Kept only now: had the request another fault, no way of asking would have helped.
                        if not begun and refusal is not None:
                            self._keep(way, refusal)
                        begun = True
                        yield self._with_notice(chunk)
                return
            except RequestRefused as error:
                if begun or way is ways[-1] or way not in error.ways:
                    raise
                refusal = error

    def _keep(self, way: Way, refusal: RequestRefused) -> None:
        before, self._at = self._ways[self._at], self._ways.index(way)
        if _ASKED_BY[before] != _ASKED_BY[way]:
            self._untold = f"{refusal}. From now on replies are asked for as {_ASKED_BY[way]}."

    def _with_notice(self, chunk: Chunk) -> Chunk:
        # On the last chunk: a reply that breaks off before is lost, and its notices with it.
        if chunk.stop is None or not self._untold:
            return chunk
        notice, self._untold = self._untold, ""
        return replace(chunk, notice=notice)
