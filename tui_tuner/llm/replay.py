"""A recorded session in the model's place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

from tui_tuner.errors import ModelError
from tui_tuner.llm.base import Chunk, Request, Usage
from tui_tuner.llm.recording import Recorded, read_recording, request_hash

_PIECE = 64  # characters


class ReplayBackend:
    """Answers from a recording, each reply once: the one to this very request, else the next of its purpose.

    Attributes:
        note: what is not exact about the last reply; empty if it answered this very request.

    Raises:
        ModelError: the file cannot be read or is not a recording.
    """

    context_tokens: int | None = None

    def __init__(self, file: Path) -> None:
        self.name = f"replay:{file.name}"
        self.note = ""
        self._file = file
        self._left = read_recording(file)

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Yield a recorded reply; it costs nothing.

        Raises:
            ModelError: nothing is left that could answer.
        """
        recorded = self._next(request)
        for start in range(0, len(recorded.thinking), _PIECE):
            yield Chunk(thinking=recorded.thinking[start : start + _PIECE])
        for start in range(0, len(recorded.reply), _PIECE):
            yield Chunk(recorded.reply[start : start + _PIECE])
        counts = Usage(recorded.usage.input, recorded.usage.output, 0.0, recorded.usage.estimated)
        yield Chunk(stop=recorded.stop, usage=counts)

    async def aclose(self) -> None:
        """Do nothing: the file was read at the start."""

    def _next(self, request: Request) -> Recorded:
        wanted = request_hash(request)
        exact = [recorded for recorded in self._left if recorded.request_hash == wanted]
        same_purpose = [recorded for recorded in self._left if recorded.purpose == request.purpose]
        if not same_purpose:
            raise ModelError(
                f"the recording has no reply left for '{request.purpose}'",
                hint="record a longer session, or choose a model with --llm",
                file=self._file,
            )
        found = (exact or same_purpose)[0]
        self._left.remove(found)
        self.note = "" if exact else f"the recorded reply answered another '{request.purpose}' request"
        return found
