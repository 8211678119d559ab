"""What words the device's part of a file reads, and which headers of its project."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tui_tuner.problem.conditionals import active_source
from tui_tuner.problem.headers import INCLUDE, holds_other_projects, is_header, is_missing
from tui_tuner.problem.host_code import device_code
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import code_only

_STATED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<text>(?:\\\r?\n|[^\n])*)"
    r"|\b(?:const(?:expr)?|static)\b[\w\s]*?\b(?P<constant>\w+)\s*=(?P<value>[^;{}]*);",
    re.MULTILINE,
)
_ASKED = re.compile(r"^[ \t]*#[ \t]*(?:ifn?def|undef)[ \t]+\w+|\bstatic_assert\s*\([^;]*\)\s*;", re.MULTILINE)
"""What only asks, and changes nothing of what the kernel does."""
_WARP = re.compile(r"(?:^|_|(?<=[a-z]))[Ww](?:arp|ave(?:[Ff]ront)?)(?![a-z])|(?:^|_)W(?:ARP|AVE(?:FRONT)?)(?!S(?:_|$))")
_IN_WARPS = re.compile(r"__(?:shfl|ballot|match|reduce)_\w+|__(?:any|all|activemask|syncwarp)\w*")
"""What the lanes of a warp do with each other."""
_MOST_HEADERS = 200
_MOST_ABOVE = 6
_MOST_BESIDE = 64
_ROOTS = (".git", "setup.py", "setup.cfg", "pyproject.toml", "CMakeLists.txt", "PKG-INFO")
"""What stands in a project's own directory."""


def _may_be_own(code: str) -> list[str]:
    """The names of the headers that code includes and that come neither with compilers nor with the system."""
    found = (one for one in INCLUDE.finditer(code) if one["quoted"] or is_missing(one, ()))
    return [one["quoted"] or one["angled"] for one in found]


def local_headers(source: str, file: Path) -> list[Path]:
    """The headers of its project that a file includes."""
    around = _around(file)
    names = _may_be_own(device_code(source, tuple(around)))
    return [place / name for name in names if (place := _place_of(name, around)) is not None]


def reached_headers(source: str, file: Path) -> list[Path]:
    """The headers of its project that a file includes, and those that these do."""
    around, found = _around(file), dict.fromkeys(local_headers(source, file))
    waiting = [*found]
    while waiting and len(found) < _MOST_HEADERS:
        header = waiting.pop(0)
        places = [header.parent, *around]
        for name in _may_be_own(header.read_text("utf-8", "replace")):
            place = _place_of(name, places)
            other = None if place is None else (place / name).resolve()
            if other is not None and other not in found:
                found[other] = None
                waiting.append(other)
    return [*found]


def text_of_headers(source: str, file: Path, defined: Collection[str]) -> str:
    """The code of the headers of its project that a file includes, as far as a build that defines these macros sees it.

    What the file defines before it includes one counts too, as in `#define USE_DOUBLE` and `#include "real.h"`.
    """
    parts: list[str] = []
    for header in local_headers(source, file):
        place = re.search(rf"#[ \t]*include[ \t]*[\"<][^\">\n]*{re.escape(header.name)}[\">]", source)
        before = code_only(source[: place.start()]) if place else ""
        known = {*defined}
        for word, name in re.findall(r"^[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)", before, re.MULTILINE):
            (known.add if word == "define" else known.discard)(name)
        parts.append(code_only(active_source(header.read_text("utf-8", "replace"), known)))
    return "\n".join(parts)


def header_directories(source: str, file: Path) -> list[Path]:
    """From where the headers of its project are included: by the file itself, and by these headers.

    That is the file's own directory, one above it, an `include` in one of these, in its project one beside them, or
    where that has other projects.
    """
    around = _around(file)
    found: list[Path] = []
    waiting = [(file, name) for name in _may_be_own(device_code(source, tuple(around)))]
    seen = {name for _, name in waiting}
    while waiting:
        includer, name = waiting.pop()
        header = Path(os.path.normpath(includer.parent.resolve() / name))
        if includer == file or not is_header(header):
            if (place := _place_of(name, around)) is None:
                continue
            found.append(place)
            header = place / name
        elif ".." in Path(name).parts:
            found += [one for one in around if header.is_relative_to(one)][:1]
        more = dict.fromkeys(_may_be_own(header.read_text("utf-8", "replace"))) if len(seen) < _MOST_HEADERS else ()
        waiting += [(header, one) for one in more if one not in seen]
        seen.update(more)
    return [one for one in around if one in found]


def _around(file: Path) -> list[Path]:
    """Where the project of a file may have its headers, the nearest first; never the user's home, or the root."""
    own = file.parent.resolve()
    above = [one for one in (own, *own.parents[:_MOST_ABOVE]) if one not in (Path.home(), Path(own.anchor))]
    named = [place for one in above for place in (one, one / "include") if place != own]
    return list(dict.fromkeys([own, *named, *_beside(above)]))


def _beside(above: list[Path]) -> Iterator[Path]:
    """The directories in these as far as the project goes; none where nothing says how far that is."""
    root = next((place for place, one in enumerate(above) if any((one / mark).exists() for mark in _ROOTS)), -1)
    beside = [inner for one in above[: root + 1] for inner in _directories_in(one)]
    yield from beside
    for other in (inner for one in beside if holds_other_projects(one) for inner in _directories_in(one)):
        yield from (other, other / "include")


def _directories_in(directory: Path) -> list[Path]:
    with suppress(OSError):  # one that nobody may list
        return sorted(inner for inner in islice(directory.iterdir(), _MOST_BESIDE) if inner.is_dir())
    return []


def _place_of(name: str, directories: list[Path]) -> Path | None:
    """The first of the directories that has a header of this name."""
    return next((one for one in directories if is_header(one / name)), None)


def words_of_device(source: str, file: Path, signature: KernelSignature) -> frozenset[str]:
    """The words of a kernel's code, and of the macros and constants that it reads; names of arguments are none."""
    code = device_code(code_only(source), tuple(header_directories(source, file)), signature.name)
    stated = {one["name"] or one["constant"]: one["text"] or one["value"] or "" for one in _STATED.finditer(code)}
    words = {*re.findall(r"\w+", _STATED.sub("", _ASKED.sub("", code)))}
    while more := {word for name in stated.keys() & words for word in re.findall(r"\w+", stated[name])} - words:
        words |= more
    own = {parameter.name for parameter in signature.parameters}
    return frozenset(words - own)


def is_warp(name: str, number: int | None, words: frozenset[str]) -> bool:
    """Whether a name for a number is that of the lanes of a warp, which is what it is on every device."""
    in_warps = number == 32 and any(_IN_WARPS.fullmatch(word) for word in words)
    return in_warps or (number in (32, 64) and _WARP.search(name) is not None)
