"""The replies in a session's journal, for answering the same questions again without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tui_tuner.errors import ModelError
from tui_tuner.llm.base import Message, Reply, Request

VERSION = 1
_UNANSWERED = {"failed", "stopped"}


class Question(BaseModel):
    """What was asked; other fields of the journal's record do not matter here."""

    model_config = ConfigDict(frozen=True)

    purpose: str
    messages: tuple[Message, ...]
    reply_schema: dict[str, Any] | None = Field(alias="schema")  # `schema` is a method of every pydantic model

    def is_for(self, request: Request) -> bool:
        """Whether it is this very request, word for word."""
        return (self.purpose, self.messages, self.reply_schema) == (request.purpose, request.messages, request.schema)


class Recorded(BaseModel):
    """A question with its reply."""

    model_config = ConfigDict(frozen=True)

    content: Question
    result: Reply


def read_recording(file: Path) -> list[Recorded]:
    """The replies of a journal in their order; calls that failed or were not made are left out.

    Raises:
        ModelError: the file cannot be read or is no journal.
    """
    try:
        header, *lines = file.read_text(encoding="utf-8").split("\n")
        known = json.loads(header).get("journal") == VERSION
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"no recorded session: {error}", file=file) from None
    if not known:
        raise ModelError(f"no recorded session of version {VERSION}", file=file, line=1)
    records = [_parsed(line, file, number) for number, line in enumerate(lines, 2) if line.strip()]
    return [record for record in records if record is not None]


def _parsed(line: str, file: Path, number: int) -> Recorded | None:
    try:
        content = json.loads(line)
        if content.get("kind") != "ask" or not _UNANSWERED.isdisjoint(content.get("result", {})):
            return None
        return Recorded.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise ModelError(f"broken record: {place}: {fault['msg']}", file=file, line=number) from None
    except (ValueError, AttributeError) as error:
        raise ModelError(f"broken record: {error}", file=file, line=number) from None
