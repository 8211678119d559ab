"""A recorded session in the model's place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from tui_tuner.errors import ModelError
from tui_tuner.llm.base import Chunk, Request
from tui_tuner.llm.recording import AnsweredRequest, read_replies

_PIECE = 64  # characters


class ReplayBackend:
    """Answers from a journal, each reply once: the one to this very request, else the next of its purpose.

    Raises:
        ModelError: the file cannot be read or is no journal.
    """

    context_tokens: int | None = None

    def __init__(self, file: Path) -> None:
        self.name = f"replay:{file.name}"
        self._file = file
        self._left = read_replies(file)

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Yield a recorded reply; it costs nothing. Its notice says if the request was another one.

        Raises:
            ModelError: nothing is left that could answer.
        """
        recorded = self._next(request)
        reply = recorded.reply
        for start in range(0, len(reply.thinking), _PIECE):
            yield Chunk(thinking=reply.thinking[start : start + _PIECE])
        for start in range(0, len(reply.text), _PIECE):
            yield Chunk(reply.text[start : start + _PIECE])
        exact = recorded.request.is_for(request)
        notice = "" if exact else f"a recorded reply to an earlier '{request.purpose}' prompt, with other figures in it"
        yield Chunk(stop=reply.stop, usage=replace(reply.usage, cost=0.0), notice=notice)

    async def aclose(self) -> None:
        """Do nothing: the file was read at the start."""

    def _next(self, request: Request) -> AnsweredRequest:
        exact = [recorded for recorded in self._left if recorded.request.is_for(request)]
        same_purpose = [recorded for recorded in self._left if recorded.request.purpose == request.purpose]
        if not same_purpose:
            raise ModelError(
                f"the recording has no reply left for '{request.purpose}'",
                hint="record a longer session, or choose a model with --llm",
                file=self._file,
            )
        found = (exact or same_purpose)[0]
        self._left.remove(found)
        return found
