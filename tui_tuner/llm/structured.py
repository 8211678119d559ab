"""Asking for a typed reply: what is wrong with one is put back to the model, all faults at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from tui_tuner.llm.base import Message, Reply, Request, Stop, Usage
from tui_tuner.llm.reading import Unreadable, read
from tui_tuner.llm.schema import schema_of
from tui_tuner.llm.thinking import split_thinking

T = TypeVar("T", bound=BaseModel)
CallModel = Callable[[Request], Awaitable[Reply]]
"""One complete call of a model."""

_KEPT_OF_A_CUT_REPLY = 2000  # characters: enough to recognise it, too few to fill the context again


@dataclass(frozen=True)
class TypedReply(Generic[T]):
    """A reply that passed every check.

    Attributes:
        usage: of all attempts together.
        transcript: the whole conversation, refused attempts and the final reply included.
    """

    value: T
    usage: Usage
    transcript: tuple[Message, ...]


class NoUsableReply(Exception):
    """The model did not manage a usable reply.

    Attributes:
        problems: what was wrong with its last one.
        transcript: the whole conversation.
        usage: of all attempts together.
    """

    def __init__(self, problems: list[str], transcript: tuple[Message, ...], usage: Usage) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
        self.transcript = transcript
        self.usage = usage


async def ask(
    call: CallModel,
    request: Request,
    reply_type: type[T],
    *,
    check: Callable[[T], list[str]] | None = None,
    attempts: int = 3,
    on_refused: Callable[[list[str]], None] | None = None,
) -> TypedReply[T]:
    """Ask until the reply has the form of `reply_type` and passes `check`.

    Args:
        call: one complete call; its errors pass through.
        request: its schema is set here.
        check: returns what is wrong with a well-formed value, in words for the model.
        attempts: how often to ask at most.
        on_refused: called with the faults of each refused reply.

    Raises:
        NoUsableReply: no attempt gave a usable reply.
    """
    request = replace(request, schema=schema_of(reply_type))
    usage, problems = Usage(), ["no attempt was allowed"]
    for _ in range(attempts):
        reply = await call(request)
        usage += reply.usage
        try:
            value = _value(reply, reply_type, check)
        except Unreadable as error:
            problems = error.problems
        else:
            return TypedReply(value, usage, (*request.messages, Message("assistant", reply.text)))
        if on_refused is not None:
            on_refused(problems)
        request = replace(request, messages=(*request.messages, *_put_back(reply, problems)))
    raise NoUsableReply(problems, request.messages, usage)


def _value(reply: Reply, reply_type: type[T], check: Callable[[T], list[str]] | None) -> T:
    """Read the reply; one that was cut or declined is not parsed, whatever it holds."""
    match reply.stop:
        case Stop.LENGTH:
            raise Unreadable([f"the reply was cut off after {reply.usage.output} tokens, before its end"])
        case Stop.REFUSED:
            raise Unreadable(["the request was declined"])
    return read(split_thinking(reply.text)[0], reply_type, check)


def _put_back(reply: Reply, problems: list[str]) -> tuple[Message, Message]:
    faults = "\n".join(f"- {problem}" for problem in problems)
    said, advice = reply.text, "Correct all of it and answer again with the whole JSON object and nothing else."
    if reply.stop is Stop.LENGTH:
        said = _shortened(said)
        advice = (
            "The same answer would be cut again. Answer from the start and in less: think briefly, keep texts to a "
            "sentence, leave out comments and whatever is optional. Answer with the whole JSON object and nothing else."
        )
    # Some providers refuse an empty message.
    assistant = Message("assistant", said if said.strip() else "(no text)")
    return assistant, Message("user", f"Your reply cannot be used:\n{faults}\n{advice}")


def _shortened(text: str) -> str:
    return text if len(text) <= _KEPT_OF_A_CUT_REPLY else f"{text[:_KEPT_OF_A_CUT_REPLY]}\n[cut off]"
