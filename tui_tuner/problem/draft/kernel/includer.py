"""What a host's file states before it includes a kernel's, which lacks it where it is built by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tui_tuner.problem.draft.host.build_options import BuildMacro
from tui_tuner.problem.draft.host.statements import CONSTANT
from tui_tuner.problem.draft.kernel.device_words import local_headers
from tui_tuner.problem.headers import INCLUDE
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import code_only, without_bodies

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^()\n]*\))?(?P<text>(?:\\\r?\n|[^\n])*)", re.MULTILINE
)
_ALIAS = re.compile(r"\btypedef\s+(?P<text>(?!struct\b|union\b|enum\b)[\w\s:]+?)\s*\b(?P<name>\w+)\s*;")
_WORD = re.compile(r"[A-Za-z_]\w*")


def stated_before(host: Path, file: Path) -> str:
    """The code of a host and of its project's headers up to where it includes a file; empty where it does not."""
    text = host.read_text("utf-8", "replace")
    names = ((one["quoted"] or "", one) for one in INCLUDE.finditer(text))
    found = next((one for name, one in names if name.rpartition("/")[2] == file.name), None)
    if found is None:
        return ""
    before = text[: found.start()]
    headers = (one.read_text("utf-8", "replace") for one in local_headers(before, host) if one.name != file.name)
    return "\n".join(code_only(one) for one in (*headers, before))


def built_after(stated: str, code: str) -> dict[str, BuildMacro]:
    """The macros that give a kernel's file what code before it states: macros, names of types, constants.

    Args:
        code: that of the file and of its own headers; what this states itself is left out.
    """
    given = dict(_statements(stated))
    own = {one["name"] for pattern in (_DEFINE, _ALIAS, CONSTANT) for one in pattern.finditer(code)}
    wanted, found = {*_WORD.findall(code)} - own, dict[str, BuildMacro]()
    while more := [name for name in given if name in wanted and name not in found]:
        found |= {name: given[name] for name in more}
        wanted |= {word for name in more for word in _WORD.findall(given[name].value)} - own
    return found


def lacking(stated: str, name: str) -> bool:
    """Whether code states a type, or a function, of this name, which no macro can give."""
    return name in structures(stated) or re.search(rf"\b{re.escape(name)}\s*\([^;{{}}]*\)\s*\{{", stated) is not None


def _statements(stated: str) -> Iterator[tuple[str, BuildMacro]]:
    """What code states that can be said by a macro, by its name, the last of each."""
    for one in _DEFINE.finditer(stated):
        text = " ".join(one["text"].replace("\\\n", " ").replace("\\\r\n", " ").split())
        if text and '"' not in text:
            yield one["name"], BuildMacro(one["name"] + (one["parameters"] or "").replace(" ", ""), text, text)
    for one in _ALIAS.finditer(stated):
        text = " ".join(one["text"].split())
        yield one["name"], BuildMacro(one["name"], text, text)
    for one in CONSTANT.finditer(without_bodies(stated)):
        text = " ".join(one["text"].split())
        value = text if text.isdecimal() else f"(({one['type']})({text}))"
        yield one["name"], BuildMacro(one["name"], value, value)
