"""Where in the prose of a reply its JSON stands. Nothing is mended: what stands there is read as it is, or refused."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

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
