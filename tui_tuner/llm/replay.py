"""Recorded replies in the model's place: a session's, or those kept across sessions."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tui_tuner.errors import JournalError, ModelError, UserError
from tui_tuner.journal.reading import Record, journal_of, read_journal
from tui_tuner.llm import Backend, Chunk, Message, Reply, Request, Stop, Usage, prompt_text
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

    def put(self, key: str, model: str, request: Request, reply: Reply) -> None:
        """Keep a reply under a key.

        Raises:
            UserError: the store cannot be written.
        """


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
        return prompt_text(self.messages)


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
    return RecordedCall(record.line, request, reply, was_sent(record.result))


def was_sent(result: Mapping[str, Any]) -> bool:
    """Whether a call of which this became was sent at all; the budget may not have allowed it."""
    return "stopped" not in result or "pauses" in result


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
    """The replies in a journal's file.

    Raises:
        ModelError: the file cannot be read, is no journal or is damaged; file and line are named.
    """
    try:
        content = read_journal(file)
    except JournalError as error:
        what = "no recorded session" if error.line in {None, 1} else "broken record"
        raise ModelError(f"{what}: {error.message}", hint=error.hint, file=error.file, line=error.line) from None
    if content.torn.endswith(b"\n"):
        raise ModelError("broken record: is no JSON object", file=file, line=len(content.records) + 2)
    return answered_in(content.records, file)


class ReplayBackend:
    """Answers from a journal, each reply once: the one to this very request, else the next of its purpose.

    Args:
        path: the journal, or the directory of its run.

    Raises:
        ModelError: the file cannot be read or is no journal.
    """

    context_tokens: int | None = None

    def __init__(self, path: Path) -> None:
        self.name = f"replay:{path.absolute().name}"
        self._file = journal_of(path)
        self._left = read_replies(self._file)
        self._purposes = sorted({recorded.request.purpose for recorded in self._left})

    def leave_out(self, given: Iterable[AnsweredRequest]) -> None:
        """Give no reply again that a session had before it was resumed."""
        for one in given:
            had = (recorded for recorded in self._left if _is_same(recorded, one))
            if (first := next(had, None)) is not None:
                self._left.remove(first)

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
            raise self._nothing_for(request.purpose)
        found = (exact or same_purpose)[0]
        self._left.remove(found)
        return found

    def _nothing_for(self, purpose: str) -> ModelError:
        others = f"its replies are for {', '.join(self._purposes)}: take the strategy that asks for these"
        way_out = others if self._purposes and purpose not in self._purposes else "record a longer session"
        return ModelError(
            f"the recording has no reply left for '{purpose}': {self._file}",
            hint=f"{way_out}, or choose a model with --llm",
        )


def _is_same(recorded: AnsweredRequest, given: AnsweredRequest) -> bool:
    """Whether a reply is the recorded one; the prompts may differ in their figures."""
    return (recorded.request.purpose, recorded.reply.text) == (given.request.purpose, given.reply.text)
