"""Pointers to where a row of an array begins: what a kernel reads through one is an element of the array."""

from __future__ import annotations

import re
from functools import lru_cache

_INSIDE = r"(?:[^][;,=]|\[[^][;,=]*\])*"
_BEGIN = re.compile(
    r"\*\s*(?:const\s+|__restrict__\s+)*(?P<name>\w+)\s*=\s*"
    rf"(?:(?P<array>\w+)\s*\+\s*(?P<by>[^;,=]+)|&\s*(?P<indexed>\w+)\s*\[(?P<index>{_INSIDE})\])\s*;"
)
_SUM = re.compile(r"[\w\s.*+()%/\[\]-]+")
"""What another number can be added to as it is."""


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
