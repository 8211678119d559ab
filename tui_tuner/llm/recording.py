"""The calls of a model in a session's journal: to answer the same requests again without one, or to learn from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tui_tuner.errors import JournalError, ModelError
from tui_tuner.journal.reading import Record, read_journal
from tui_tuner.llm.base import Message, Reply, Request

_REPLY = TypeAdapter(Reply)


class RecordedRequest(BaseModel):
    """What was asked.

    Attributes:
        occurrence: counts from 1 how often the same was asked.
    """

    model_config = ConfigDict(frozen=True)

    purpose: str
    messages: tuple[Message, ...]
    reply_schema: dict[str, Any] | None = Field(alias="schema")  # `schema` is a method of every pydantic model
    occurrence: int = 1

    def is_for(self, request: Request) -> bool:
        """Whether it is this very request, word for word."""
        return (self.purpose, self.messages, self.reply_schema) == (request.purpose, request.messages, request.schema)

    @property
    def prompt(self) -> str:
        """The messages as one text, as the event of the prompt has it."""
        return "\n\n".join(f"[{message.role}]\n{message.content}" for message in self.messages)


@dataclass(frozen=True)
class RecordedCall:
    """A call of the model.

    Attributes:
        line: of the journal, counted from 1.
        reply: None where no whole one came.
        was_sent: whether it was sent at all; the budget may not have allowed it.
    """

    line: int
    request: RecordedRequest
    reply: Reply | None
    was_sent: bool


@dataclass(frozen=True)
class AnsweredRequest:
    """A request with its whole reply."""

    request: RecordedRequest
    reply: Reply


def is_call(record: Record) -> bool:
    """Whether a record is a call of the model."""
    return record.kind == "ask"


def call_of(record: Record) -> RecordedCall:
    """The call that a record tells of.

    Raises:
        ValidationError: the record lacks something, or has it in another form.
    """
    request = RecordedRequest.model_validate(record.content)
    reply = _REPLY.validate_python(record.result) if record.is_done else None
    return RecordedCall(record.line, request, reply, was_sent="stopped" not in record.result)


def fault_in(error: ValidationError) -> str:
    """The first thing that is wrong with a record, and where in it."""
    fault = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'result'}: {fault['msg']}"


def answered_in(records: Iterable[Record], file: Path) -> list[AnsweredRequest]:
    """What a model was asked and whole replies it gave, in their order; other calls are left out.

    Args:
        file: where the records come from.

    Raises:
        ModelError: a call is not what this version of the program writes; file and line are named.
    """
    found = []
    for record in records:
        if is_call(record) and record.is_done:
            try:
                call = call_of(record)
            except ValidationError as error:
                raise ModelError(f"broken record: {fault_in(error)}", file=file, line=record.line) from None
            if call.reply is not None:
                found.append(AnsweredRequest(call.request, call.reply))
    return found


def read_replies(file: Path) -> list[AnsweredRequest]:
    """The same from a journal's file.

    Raises:
        ModelError: the file cannot be read, is no journal or is damaged; file and line are named.
    """
    try:
        content = read_journal(file)
    except JournalError as error:
        what = "no recorded session" if error.line in {None, 1} else "broken record"
        raise ModelError(f"{what}: {error.message}", file=error.file, line=error.line) from None
    if content.torn.endswith(b"\n"):
        raise ModelError("broken record: is no JSON object", file=file, line=len(content.records) + 2)
    return answered_in(content.records, file)
