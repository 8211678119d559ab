"""Recorded sessions with a model: one JSON object a line, the first of them a header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tui_tuner.errors import ModelError
from tui_tuner.llm.base import Backend, Chunk, Message, Request, Stop, Usage
from tui_tuner.llm.streams import closing

VERSION = 1


class Recorded(BaseModel):
    """A request and its reply, a line of a recording; the order of the fields is part of the format."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    purpose: str
    request_hash: str
    messages: list[Message]
    reply_schema: dict[str, Any] | None = Field(alias="schema")  # `schema` is a method of every pydantic model
    reply: str
    thinking: str = ""
    stop: Stop = Stop.COMPLETE
    usage: Usage = Usage()


def request_hash(request: Request) -> str:
    """Return 64 hexadecimal digits that name a request: its purpose, messages and schema."""
    content = {
        "purpose": request.purpose,
        "messages": [asdict(message) for message in request.messages],
        "schema": request.schema,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_recording(file: Path) -> list[Recorded]:
    """Return the replies of a recording in their order.

    Raises:
        ModelError: the file cannot be read or is not a recording.
    """
    try:
        header, *lines = file.read_text(encoding="utf-8").split("\n")
        known = json.loads(header).get("recording") == VERSION
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"not a recording: {error}", file=file) from None
    if not known:
        raise ModelError(f"not a recording of version {VERSION}", file=file, line=1)
    return [_parsed(line, file, number) for number, line in enumerate(lines, 2) if line.strip()]


def _parsed(line: str, file: Path, number: int) -> Recorded:
    try:
        return Recorded.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise ModelError(f"broken recording: {place}: {fault['msg']}", file=file, line=number) from None


class Recorder:
    """A back end that writes every complete reply of another to a file.

    Args:
        file: created with a header; one that exists is continued.
        kernel: what the session is about, for the header.
    """

    def __init__(self, backend: Backend, file: Path, kernel: str) -> None:
        self._backend = backend
        self._file = file
        self.name = backend.name
        self.context_tokens = backend.context_tokens
        if not file.exists():
            date = datetime.now(UTC).date().isoformat()
            self._append({"recording": VERSION, "model": backend.name, "date": date, "kernel": kernel})

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Pass the reply on and record it; see `Backend.stream`."""
        text = thinking = ""
        async with closing(self._backend.stream(request)) as chunks:
            async for chunk in chunks:
                text, thinking = text + chunk.text, thinking + chunk.thinking
                self.context_tokens = self._backend.context_tokens
                if chunk.stop is not None:
                    self._append(_line(request, text, thinking, chunk))
                yield chunk

    async def aclose(self) -> None:
        """Close connections."""
        await self._backend.aclose()

    def _append(self, content: dict[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(content) + "\n")


def _line(request: Request, text: str, thinking: str, last: Chunk) -> dict[str, Any]:
    return {
        "purpose": request.purpose,
        "request_hash": request_hash(request),
        "messages": [asdict(message) for message in request.messages],
        "schema": request.schema,
        "reply": text,
        "thinking": thinking,
        "stop": last.stop,
        "usage": asdict(last.usage or Usage()),
    }
