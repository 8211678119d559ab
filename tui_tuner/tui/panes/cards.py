"""A structured reply of the model as a card: its words, what changes in the kernel, its tunables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from textual.content import Content

from tui_tuner.tui.text import Pairs, hanging, one_line, pairs_table, plain
from tui_tuner.tui.text.diff import changed_lines, diff_rows
from tui_tuner.tui.text.markdown import markdown_text, table_lines

FOLDED_FROM = 4
"""Code of at least so many lines is folded: it is shown in the kernel pane."""
_PROSE = ("summary", "idea", "rationale", "reason", "explanation", "analysis", "diagnosis")
"""Fields whose words stand by themselves, in this order."""
_TITLES = ("title", "name", "step")
_NOTHING: tuple[object, ...] = ("", "0", [], {}, None)

_MOST_MARKDOWN = 20_000
"""Characters of prose that are set as Markdown, which takes longer the more marks are left open."""
_CODE_FIRST = re.compile(r"```(?!json)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^def \w+\(", re.MULTILINE)
_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


def reply_content(text: str, before: str | None) -> Content:
    """A reply, whole or its beginning.

    Args:
        before: the kernel that a new one is compared with; None while the reply still arrives.
    """
    fields = parsed_reply(text)
    if fields is None:
        folded = _FENCE.sub(_fold_fence, text)
        return markdown_text(folded) if len(folded) <= _MOST_MARKDOWN else plain(folded)
    if not any(value not in _NOTHING for value in fields.values()):
        return plain(f"a structured reply, {len(text)} characters", "$foreground-muted")
    return Content("\n").join(part for part in _parts(fields, before) if part)


def _fold_fence(match: re.Match[str]) -> str:
    lines = match.group(1).rstrip("\n").count("\n") + 1
    return match.group(0) if lines < FOLDED_FROM else f"▸ kernel, {lines} lines → pane 1\n"


def _parts(fields: dict[str, Any], before: str | None) -> Iterator[Content]:
    """The words first, then the kernel, its tunables, and what else says something."""
    prose = {name: fields[name] for name in _PROSE if isinstance(fields.get(name), str)}
    yield from (markdown_text(words) for words in prose.values() if words.strip())
    others = {name: value for name, value in fields.items() if name not in prose and value not in _NOTHING}
    for name in [name for name, value in others.items() if _is_code(value)]:
        yield _kernel(others.pop(name), before)
    if _are_tunables(others.get("tunables")):
        yield from _tunables(others.pop("tunables"))
    yield from (_list(name, value) for name, value in others.items() if _are_objects(value))
    fields_left: Pairs = [
        (name.replace("_", " "), inline(value)) for name, value in others.items() if not _are_objects(value)
    ]
    if fields_left:
        yield pairs_table(fields_left)


def _is_code(value: object) -> bool:
    if not isinstance(value, str) or value.count("\n") + 1 < FOLDED_FROM:
        return False
    return ";" in value or _PYTHON.search(value) is not None


def _kernel(source: str, before: str | None) -> Content:
    """What changes, once the whole of it is there."""
    new = source.rstrip("\n").split("\n")
    if before is None or _PYTHON.search(source):  # of which a reply has functions, and the kernel's file more
        return plain(f"▸ kernel, {len(new)} lines → pane 1", "$text-primary")
    added, removed = changed_lines(diff_rows(before.rstrip("\n").split("\n"), new))
    signs = Content.assemble((f"+{added}", "$text-success"), " ", (f"-{removed}", "$text-error"))
    return Content.styled("▸ kernel ", "$text-primary") + signs + Content.styled(" → pane 1", "$text-primary")


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _are_tunables(value: object) -> bool:
    return (
        isinstance(value, list) and _are_objects(value) and all("name" in item and "values" in item for item in value)
    )


def _tunables(tunables: list[dict[str, Any]]) -> Iterator[Content]:
    """A line each, the value to start with marked."""
    rows = []
    for tunable in tunables:
        values = tunable["values"] if isinstance(tunable["values"], list) else [tunable["values"]]
        first = tunable.get("default")
        cells = [plain(inline(value), "bold $text-accent" if value == first else "") for value in values]
        rows.append([one_line(inline(tunable["name"])), Content(" ").join(cells)])
    yield from table_lines(rows)


def _list(name: str, items: list[dict[str, Any]]) -> Content:
    """Things with a title, numbered; others as what they hold."""
    lines = [] if name == "steps" else [Content.styled(name.replace("_", " "), "$foreground-muted")]
    for number, item in enumerate(items, start=1):
        title = next((inline(item[key]) for key in _TITLES if item.get(key)), "")
        more = {key: value for key, value in item.items() if key not in _TITLES and value not in (*_NOTHING, False)}
        words = " ".join(value for value in more.values() if isinstance(value, str) and " " in value)
        rest = {key: value for key, value in more.items() if not (isinstance(value, str) and " " in value)}
        label = hanging(plain(f"{number}. "))
        text = one_line(title, "bold") + (Content(" ") if title and (words or rest) else Content())
        lines.append(label + text + one_line(" ".join(filter(None, (words, inline(rest))))))
    return Content("\n").join(lines)


def inline(value: Any) -> str:  # noqa: ANN401  # whatever JSON holds
    """A value in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {inline(item)}" for name, item in value.items())
    if isinstance(value, list):
        items = [inline(item) for item in value]
        return (", " if any(" " in item for item in items) else " ").join(items)
    return value if isinstance(value, str) else json.dumps(value)


_TAIL = 200
"""Characters in which the beginning of a key is looked for that has no value yet."""


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


def parsed_reply(text: str) -> dict[str, Any] | None:
    """The reply as an object, also while it still arrives; None if it is none.

    Code that stands in a block of its own before it is one of its fields.
    """
    body = text.strip()
    block = _CODE_FIRST.match(body)
    if block is not None:
        fields = _parsed_object(body[block.end() :].strip())
        return fields and {"code": block[1], **fields}
    return _parsed_object(body)


def _parsed_object(body: str) -> dict[str, Any] | None:
    """The object that a text is, or begins to be."""
    body = re.sub(r"^```(?:json)?\s*\n?|\n?```$", "", body)
    if not body.startswith("{"):
        return None
    for candidate in (
        body,
        completed(body),
        completed(body + " null"),
        completed(body[:-_TAIL] + re.sub(r",\s*\"?[^\"]*\"?$", "", body[-_TAIL:])),
    ):
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return {}
