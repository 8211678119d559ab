"""Pointers to where a row of an array begins: those of the array that are moved there once, and others set to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from tui_tuner.problem.syntax import spaces

_MOVED = r"(?<![\w.>])(?<!\*){name}\s*\+=(?P<by>[^;{{}}=]*);"
_CHANGED = r"(?<![\w.>]){name}\s*(?:[-+]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*{name}\b"
_ELEMENT = r"(?P<star>\*\s*)?(?<![\w.>]){name}\b(?:\s*\[(?P<index>(?:[^][]|\[[^][]*\])*)\])?"
_OF_THREADS = re.compile(r"\s*(?:\w*LOOP\w*\s*\(|for\s*\([^{}]*\b(?:blockIdx|gridDim)\b)")
"""What begins a loop over the grid, through which a thread goes once where there are enough."""
_INSIDE = r"(?:[^][;,=]|\[[^][;,=]*\])*"
_BEGIN = re.compile(
    r"\*\s*(?:const\s+|__restrict__\s+)*(?P<name>\w+)\s*=\s*"
    rf"(?:(?P<array>\w+)\s*\+\s*(?P<by>[^;,=]+)|&\s*(?P<indexed>\w+)\s*\[(?P<index>{_INSIDE})\])\s*;"
)
_SUM = re.compile(r"[\w\s.*+()%/\[\]-]+")
"""What another number can be added to as it is."""


def with_moves(body: str, pointers: Sequence[str]) -> str:
    """A kernel's text in which the places of such pointers say by how much: `x[row * width + (i)]`.

    What is moved in a loop, or more than once, stays.
    """
    for name in pointers:
        moved = [*re.finditer(_MOVED.format(name=re.escape(name)), body)]
        if len(moved) == 1 == len(re.findall(_CHANGED.format(name=re.escape(name)), body)):
            body = _put_in(body, name, moved[0])
    return body


def _put_in(body: str, name: str, moved: re.Match[str]) -> str:
    before, after = body[: moved.start()], body[moved.end() :]
    is_chosen = before.rstrip()[-1:] not in ("", ";", "}", "{")
    if is_chosen or _is_in_block(before) or re.search(rf"(?<![\w.>]){re.escape(name)}\b", before):
        return body
    by = moved["by"].strip()

    def placed(one: re.Match[str]) -> str:
        index, star = one["index"], one["star"] or ""
        if index is None:
            return f"{name}[{by}]" if star else f"{name} + {by}"
        return f"{star}{name}[{by} + ({index})]"

    return before + spaces(moved[0]) + re.sub(_ELEMENT.format(name=re.escape(name)), placed, after)


def _is_in_block(before: str) -> bool:
    """Whether text ends in a block of its own, but for that of a loop over the grid."""
    while (closed := re.sub(r"\{[^{}]*\}", ";", before)) != before:
        before = closed
    opened = re.split(r"[;{]", before.rpartition("{")[0])[-1]
    heads = before.count("{")
    loop = before.rpartition("{")[0].rpartition("for")[1:] if heads else ()
    return heads > 1 or (heads == 1 and not _OF_THREADS.match(opened) and not _OF_THREADS.match("".join(loop)))


@lru_cache(maxsize=32)
def without_row_pointers(body: str) -> str:
    """A kernel's text with `x[i * n + c]` for `row[c]`, where `const float *row = x + i * n;`, or `&x[i * n]`."""
    for begin in _BEGIN.finditer(body):
        name, array, by = begin["name"], begin["array"] or begin["indexed"], begin["by"] or begin["index"]
        element = rf"(?<![\w.>]){name}\s*\[({_INSIDE})\]"
        parts = re.split(element, body)
        named = len(re.findall(rf"(?<![\w.>]){name}\b", body))
        if named == 1 + len(parts) // 2 and name != array:
            parts[1::2] = (f"{array}[{_term(by)} + {_term(one)}]" for one in parts[1::2])
            body = "".join(parts).replace(begin[0], ";")
    return body


def _term(text: str) -> str:
    return text.strip() if _SUM.fullmatch(text) else f"({text})"
