"""Numbers that a kernel's file gives names: macros, constants and tables of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from tui_tuner.problem.draft.kernel.said_places import INDEX
from tui_tuner.problem.signature import KernelSignature

_OWN_TABLE = r"\b(?:(?:unsigned|int|char|short|u?int\d+_t)\s+)+(\w+)\s*\[\w*\]\s*=\s*\{([\d,\s]*\d)\s*\}\s*;"
_OWN_CONSTANT = r"\b(?:const(?:expr)?\s+)+(?:unsigned\s+)?(?:int|unsigned|size_t)\s+(\w+)\s*=\s*(\d+)\s*;"
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(\d{1,9})[uUlL]*\)?[ \t]*$", re.MULTILINE)
_CONSTANT = re.compile(
    r"^(?:(?:static|inline|const|constexpr|unsigned)\s+)*(?:int|size_t)\s+(\w+)\s*=\s*(\d+)\s*;", re.MULTILINE
)


def with_limits_as_numbers(signature: KernelSignature, code: str, but: Collection[str] = ()) -> KernelSignature:
    """The kernel whose text has the number for what it counts to by a name of its file, as by `#define STATES 9`.

    What a build may state otherwise keeps its name, and what is an extent of shared memory, as blocks are made of that.

    Args:
        code: that of the file and its headers, without comments.
        but: names that are sizes.
    """
    body = signature.body
    words = {*re.findall(r"\w+", body)}
    defined = [one for one in (*_MACRO.findall(code), *_CONSTANT.findall(code)) if one[0] in words]
    times = Counter(name for name, _ in defined)
    for name, number in defined:
        left_open = rf"#[ \t]*(?:ifn?def|undef)[ \t]+{name}\b|\bdefined\s*\(?\s*{name}\b"
        in_shared = rf"__shared__[^;]*\[[^]]*\b{name}\b"
        is_limit = re.search(rf"[<>]=?\s*{name}\b", body)
        if times[name] == 1 and name not in but and is_limit and not re.search(rf"{left_open}|{in_shared}", code):
            body = re.sub(rf"(?<![\w.>]){name}\b", number, body)
    return replace(signature, body=body)


def with_own_numbers(body: str) -> str:
    """A text with numbers in the place of constants and of elements of tables that it declares."""
    return _with_most_of_tables(_with_numbers_of_names(body))


def _with_numbers_of_names(body: str) -> str:
    """The text with the number for a constant of its own, as of `const int lanes = 4;`."""
    for declared, name, number in re.findall(rf"({_OWN_CONSTANT})", body):
        rest = body.replace(declared, " ")
        if not re.search(rf"(?<![\w.>]){name}\s*=(?!=)", rest):
            body = re.sub(rf"(?<![\w.>]){name}\b", number, rest)
    return body


def _with_most_of_tables(body: str) -> str:
    """The text with the largest number for an element of a table of its own, as of `int back[3] = {0, 2, 1};`."""
    for declared, name, numbers in re.findall(rf"({_OWN_TABLE})", body):
        rest = body.replace(declared, " ")
        element = rf"(?<![\w.>]){name}\s*{INDEX}"
        if not re.search(rf"{element}\s*(?:[-+*/%&|^]?=(?!=)|\+\+|--)", rest):
            body = re.sub(element, str(max(map(int, numbers.split(",")))), rest)
    return body
