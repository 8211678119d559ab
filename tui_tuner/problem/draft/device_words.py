"""What words the device's part of a file reads, and which headers beside it."""

from __future__ import annotations

import re
from pathlib import Path

from tui_tuner.problem.host_code import device_code
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import code_only

_LOCAL = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_STATED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<text>(?:\\\r?\n|[^\n])*)"
    r"|\b(?:const(?:expr)?|static)\b[\w\s]*?\b(?P<constant>\w+)\s*=(?P<value>[^;{}]*);",
    re.MULTILINE,
)
_ASKED = re.compile(r"^[ \t]*#[ \t]*(?:ifn?def|undef)[ \t]+\w+", re.MULTILINE)


def local_headers(source: str, file: Path) -> list[Path]:
    """The headers beside a file that it includes."""
    text = device_code(source, (file.parent,))
    return [path for name in _LOCAL.findall(text) if (path := file.parent / name).is_file()]


def words_of_device(source: str, file: Path, signature: KernelSignature) -> frozenset[str]:
    """The words of the device's code, and of the macros and constants that it reads; names of arguments are none."""
    code = device_code(code_only(source), (file.parent,))
    stated = {one["name"] or one["constant"]: one["text"] or one["value"] for one in _STATED.finditer(code)}
    words = {*re.findall(r"\w+", _STATED.sub("", _ASKED.sub("", code)))}
    while more := {word for name in stated.keys() & words for word in re.findall(r"\w+", stated[name])} - words:
        words |= more
    own = {parameter.name for parameter in signature.parameters}
    return frozenset(words - own)
