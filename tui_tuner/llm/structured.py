"""A typed reply: found in the text, checked, and what is wrong with it put back to the model, all faults at once."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, ValidationError

from tui_tuner.llm import CODE, Message, Reply, Request, Stop
from tui_tuner.llm.streams import split_thinking
from tui_tuner.llm.typed import schema_of


class CutReply(BaseModel):
    """A reply of which a part is of use where the rest is missing."""

    @classmethod
    def of_part(cls, text: str) -> Self | None:
        """What is complete in a reply that was cut off; None where nothing of use is."""
        raise NotImplementedError


T = TypeVar("T", bound=BaseModel)
CallModel = Callable[[Request], Awaitable[Reply]]
"""One complete call of a model; raises `InVain` where a further one would bring nothing new."""

_KEPT_OF_A_CUT_REPLY = 2000  # characters: enough to recognise it, too few to fill the context again
_MOST_PUT_BACK = 64_000  # characters: no kernel is longer, and each further attempt would pay for all of it


@dataclass(frozen=True)
class TypedReply(Generic[T]):
    """A reply that passed every check.

    Attributes:
        transcript: the whole conversation, refused attempts and the final reply included.
    """

    value: T
    transcript: tuple[Message, ...]


class InVain(Exception):
    """Asking once more would bring nothing new."""


class NoUsableReply(Exception):
    """The model did not manage a usable reply.

    Attributes:
        problems: what was wrong with its last one.
        replies: all that it gave.
    """

    def __init__(self, problems: list[str], replies: Sequence[Reply]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
        self.replies = tuple(replies)


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
    problems = ["no attempt was allowed"]
    replies: list[Reply] = []
    while len(replies) < attempts:
        try:
            reply = await call(request)
        except InVain:
            break
        replies.append(reply)
        try:
            value = _value(reply, reply_type, check)
        except Unreadable as error:
            problems = error.problems
        else:
            return TypedReply(value, (*request.messages, Message("assistant", reply.text)))
        if on_refused is not None:
            on_refused(problems)
        request = replace(request, messages=(*request.messages, *_put_back(reply, problems)))
    raise NoUsableReply(problems, replies)


def _value(reply: Reply, reply_type: type[T], check: Callable[[T], list[str]] | None) -> T:
    """Read the reply; one that was declined is not parsed, and one that was cut as far as its type can use a part."""
    text = split_thinking(reply.text)[0]
    match reply.stop:
        case Stop.LENGTH:
            cut = Unreadable([f"the reply was cut off after {reply.usage.output} tokens, before its end"])
            return _part(text, reply_type, check, cut)
        case Stop.REFUSED:
            raise Unreadable(["the request was declined"])
    try:
        return read(text, reply_type, check)
    except Broken as broken:
        return _part(text, reply_type, check, broken)


def _part(text: str, reply_type: type[T], check: Callable[[T], list[str]] | None, cut: Unreadable) -> T:
    """What can be used of a reply that has no end, where its type knows and nothing is wrong with it."""
    part = reply_type.of_part(text) if issubclass(reply_type, CutReply) else None
    if part is None or (check is not None and check(part)):
        raise cut
    return part


def _put_back(reply: Reply, problems: list[str]) -> tuple[Message, Message]:
    faults = "\n".join(f"- {problem}" for problem in problems)
    said = reply.text if len(reply.text) <= _MOST_PUT_BACK else _shortened(reply.text)
    advice = "Correct all of it and answer again with the whole JSON object and nothing else."
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


_LARGEST_REPLY = 1_000_000  # characters
_FENCE = "```"
_OBJECT = re.compile(r'\{\s*"[^"\\\n]{1,80}"\s*:')  # and not just any brace: prose has code in it
_NOT_ONE = "the reply is not one JSON object; answer with the JSON object and nothing else"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class _Parts:
    """A text without its fenced blocks, and these as pairs of label and content."""

    prose: str
    blocks: list[tuple[str, str]]


def json_text(text: str) -> str:
    """Return the JSON in a reply: the whole text, its last `json` block, its only bare block, or its only object.

    Where an object begins that is broken, the text from there on is returned, for the parser to name the place.

    Raises:
        ValueError: there is none, or no telling which; its message is meant for the model.
    """
    body = text.strip()
    if not body:
        raise ValueError("the reply is empty; answer with the JSON object")
    if len(body) > _LARGEST_REPLY:
        raise ValueError(f"the reply has more than {_LARGEST_REPLY} characters")
    if body.startswith("{"):
        return _only_object(body, 0)
    parts = _parts(body)
    labelled = [content for label, content in parts.blocks if label == "json"]
    if labelled:
        return labelled[-1]
    bare = [content for label, content in parts.blocks if not label and content.lstrip().startswith("{")]
    if bare:
        return _single(bare)
    begin = _OBJECT.search(parts.prose)
    if begin is None or not _is_balanced(parts.prose[: begin.start()]):
        raise ValueError(_NOT_ONE)
    return _only_object(parts.prose, begin.start())


def _single(blocks: list[str]) -> str:
    if len(blocks) > 1:
        raise ValueError(_NOT_ONE)
    return blocks[0]


def _only_object(text: str, begin: int) -> str:
    """Return the object that begins there, if no other follows."""
    try:
        _, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return text[begin:]
    rest = text[end:]
    if _OBJECT.search(rest):
        raise ValueError("the reply holds several JSON objects; answer with one")
    return text[begin:end] if _is_balanced(rest) else text[begin:]


def _code_apart(text: str) -> tuple[str, list[str]]:
    """A text without its fenced blocks that cannot be JSON, and what these hold."""
    parts = _parts(text)
    kept, code = [parts.prose], []
    for label, content in parts.blocks:
        if label == "json" or (not label and content.lstrip().startswith("{")):
            kept.append(f"{_FENCE}{label}\n{content}\n{_FENCE}")
        else:
            code.append(f"{content}\n")
    return "\n".join(kept), code


def _is_balanced(prose: str) -> bool:
    """Whether no bracket is open or left over, so that what stands beside it is not a part of something larger."""
    return all(prose.count(opening) == prose.count(closing) for opening, closing in ("{}", "[]"))


def _parts(text: str) -> _Parts:
    """Take a text apart; a fence inside a JSON string is never at a line's start."""
    blocks: list[tuple[str, str]] = []
    label: str | None = None
    prose: list[str] = []
    lines: list[str] = []
    for line in text.split("\n"):
        fence = line.strip()
        if label is None and fence.startswith(_FENCE):
            label, lines = fence.removeprefix(_FENCE).strip().lower(), []
        elif label is not None and fence == _FENCE:
            blocks.append((label, "\n".join(lines)))
            label = None
        else:
            (prose if label is None else lines).append(line)
    if label is not None:  # models forget the last fence; whether the JSON is whole, the parser knows
        blocks.append((label, "\n".join(lines)))
    return _Parts("\n".join(prose), blocks)


_MOST_PROBLEMS = 20


class Unreadable(Exception):
    """A reply without a usable value; `problems` lists every fault found."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Broken(Unreadable):
    """A reply whose JSON ends before its end, or is none."""


def read(text: str, reply_type: type[T], check: Callable[[T], list[str]] | None = None) -> T:
    """Return the value that the text holds.

    Args:
        check: returns what is wrong with a value that has the right form.

    Raises:
        Unreadable: no JSON, broken JSON, the wrong form, or refused by `check`.
    """
    body, code = _code_apart(text) if CODE in reply_type.model_fields else (text, [])
    try:
        found = json_text(body if body.strip() else text)
    except ValueError as error:
        raise Unreadable([str(error)]) from None
    content = _parsed(found)
    if code and isinstance(content, dict) and CODE not in content:
        if len(code) > 1:
            raise Unreadable([f"{CODE}: there are {len(code)} fenced blocks, and no telling which of them it is"])
        found = json.dumps(content | {CODE: code[0]})
    try:
        value = reply_type.model_validate_json(found, strict=True)
    except ValidationError as error:
        raise Unreadable(_problems(error)) from None
    problems = [] if check is None else check(value)
    if problems:
        raise Unreadable(problems[:_MOST_PROBLEMS])
    return value


def _parsed(text: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Parse, and refuse what a lenient parser would pass: repeated keys, NaN, lone surrogates, bottomless nesting."""
    try:
        return json.loads(text.encode(), object_pairs_hook=_distinct, parse_constant=_finite)
    except RecursionError:
        raise Unreadable(["the JSON is nested too deeply"]) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Broken([f"the JSON is broken at {place}: {error.msg}"]) from None
    except ValueError as error:
        raise Unreadable([f"the JSON cannot be used: {error}"]) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) < len(keys) else []
    if repeated:
        raise ValueError(f"keys given twice: {', '.join(repeated)}")
    return dict(pairs)


def _finite(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _problems(error: ValidationError) -> list[str]:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in faults]
    more = len(lines) - _MOST_PROBLEMS
    return lines if more <= 0 else [*lines[:_MOST_PROBLEMS], f"and {more} more"]
