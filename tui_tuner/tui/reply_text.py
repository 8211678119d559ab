"""A model's reply as people read it: structured replies as their fields, long code as one line."""

from __future__ import annotations

import json
import re
from typing import Any

FOLDED_FROM = 4
"""Code of at least so many lines is folded: it is shown in the kernel pane."""

_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


def _folded(lines: int) -> str:
    return f"▸ kernel, {lines} lines → pane 1"


def _fold_fence(match: re.Match[str]) -> str:
    lines = match.group(1).rstrip("\n").count("\n") + 1
    return match.group(0) if lines < FOLDED_FROM else _folded(lines)


def completed(text: str) -> str:
    """The beginning of a JSON text with what is open closed, so that it can be parsed."""
    closers: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            closers.append("}" if character == "{" else "]")
        elif character in "}]" and closers:
            closers.pop()
    stem = text[:-1] if in_string and escaped else text
    return stem + ('"' if in_string else "") + "".join(reversed(closers))


def _parsed(text: str) -> dict[str, Any] | None:
    """The reply as an object, also while it still arrives; None if it is none."""
    body = text.strip()
    body = re.sub(r"^```(?:json)?\s*\n?|\n?```$", "", body)
    if not body.startswith("{"):
        return None
    for candidate in (
        body,
        completed(body),
        completed(body + " null"),
        completed(re.sub(r",\s*\"?[^\"]*\"?$", "", body)),
    ):
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return {}


def _field(name: str, value: Any) -> str:  # noqa: ANN401  # whatever JSON holds
    if isinstance(value, str):
        lines = value.rstrip("\n").count("\n") + 1
        text = _folded(lines) if lines >= FOLDED_FROM and ";" in value else value
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        text = "".join(f"\n- {_inline(item)}" for item in value)
    else:
        text = _inline(value)
    return f"**{name}** {text}"


def _inline(value: Any) -> str:  # noqa: ANN401  # whatever JSON holds
    if isinstance(value, dict):
        return ", ".join(f"{name} {_inline(item)}" for name, item in value.items())
    if isinstance(value, list):
        items = [_inline(item) for item in value]
        return (", " if any(" " in item for item in items) else " ").join(items)
    return value if isinstance(value, str) else json.dumps(value)


def readable(text: str) -> str:
    """The reply, whole or its beginning, as Markdown without long code."""
    fields = _parsed(text)
    if fields is None:
        return _FENCE.sub(_fold_fence, text)
    if not fields:
        return f"a structured reply, {len(text)} characters"
    return "\n".join(_field(name, value) for name, value in fields.items())
