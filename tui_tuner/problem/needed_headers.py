"""Which headers the device's part of a source needs, and what stands in the place of those that only hosts have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tui_tuner.problem.headers import (
    INCLUDE,
    OF_PYTORCH,
    header_named,
    is_missing,
    is_of_host_library,
    place_of,
    texts_reached,
)
from tui_tuner.problem.structures import enumerators
from tui_tuner.problem.syntax import DIRECTIVE, code_only, spaces, without_bodies

MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\\\r?\n|[^\n])*", re.MULTILINE)
"""A definition of a macro, with its name."""
_WORD = re.compile(r"\w+")
_OF_OPENCV = "typedef unsigned char uchar; namespace cv {}"
"""What kernels beside OpenCV's headers use of them."""
_OF_CUFFT = {
    "cufftComplex": "cuFloatComplex",
    "cufftDoubleComplex": "cuDoubleComplex",
    "cufftReal": "float",
    "cufftDoubleReal": "double",
}
"""What CUDA calls the numbers that kernels take from cuFFT, whose headers are left out."""
_HEADER_OF_CUFFT = re.compile(r"cufft(?:w|Xt)?\.h")
_TAKEN_FROM_CUFFT = re.compile(rf"\b(?P<type>{'|'.join(_OF_CUFFT)})\b|\b(?:make_)?cu\w*Complex\b")
_LIBRARIES = {
    r"cooperative_groups.*": r"\bcooperative_groups\b",
    r"cub/.*": r"\bcub\s*::",
    r"thrust/.*": r"\bthrust\s*::",
    r"cuda/.*": r"\bcuda\s*::",
    r"curand.*": r"\bcurand|\bCURAND",
    OF_PYTORCH.pattern: r"\b(?:torch|at|c10)\s*::|\bC10_|\bAT_|\bCUDA_KERNEL_\w+|\bgpuAtomicAdd",
}
"""Headers that host code includes as well as device code does, and what device code that needs them says."""
_DECLARED = re.compile(
    r"#[ \t]*define[ \t]+(\w+)|\b(\w+)\s*\(|\b(?:struct|class|enum|union)\s+(\w+)\b(?!\s*[,>])|\busing\s+(\w+)"
    r"|\b(\w+)\s*(?=(?:\[[^\]]*\]\s*)*(?:=[^;{}]*)?;)"
)
"""What gives a name in a header: a macro, a function, a type, a variable."""
_NAMESPACE = re.compile(r"\b(?:inline\s+)?namespace\b[^(){};=]*\{|\bextern\s*\"[^\"]*\"\s*\{")
_OF_CUDA = {
    "cuda_fp16.h": re.compile(r"\b(?:__)?half2?\b"),
    "cooperative_groups.h": re.compile(r"\bcooperative_groups\b"),
}
"""Headers of CUDA's that one of a project brings along, and what says that they are needed."""


def with_needed_headers(source: str, directories: Sequence[Path]) -> str:
    """A source without headers of libraries that it names nothing of, and those of its project that only hosts need.

    These need what only hosts have, themselves or through others, and name nothing that the rest of the source does.
    """
    words = _without_idle_macros(code_only(INCLUDE.sub("", source)))
    idle = "|".join(header for header, needed in _LIBRARIES.items() if not re.search(needed, words))
    source = INCLUDE.sub(lambda found: _without(found, idle), source)
    around = "\n".join([words, *texts_reached(source, directories).values()])
    return INCLUDE.sub(lambda found: _of_host(found, directories, words, around), source)


def with_headers_that_are_there(source: str, directories: Sequence[Path], *, plain_alone: bool = False) -> str:
    """The source without headers of host libraries and others that are nowhere, and what it takes from them.

    Args:
        plain_alone: whether what is included by a path that goes elsewhere stays, which no build is allowed.
    """
    if any(map(_is_of_cufft, INCLUDE.finditer(source))) and _TAKEN_FROM_CUFFT.search(code_only(source)):
        source = INCLUDE.sub(lambda one: "#include <cuComplex.h>" if _is_of_cufft(one) else one.group(), source)
        source = _TAKEN_FROM_CUFFT.sub(lambda word: _OF_CUFFT[word[0]] if word["type"] else word[0], source)
    return INCLUDE.sub(
        lambda one: one.group() if plain_alone and _goes_elsewhere(one) else _kept(one, directories), source
    )


def _goes_elsewhere(include: re.Match[str]) -> bool:
    """Whether a directive names a file by its whole path, or by a way up."""
    return re.match(r"[/~\\]|\w:|.*\.\.", header_named(include)) is not None


def _is_of_cufft(include: re.Match[str]) -> bool:
    return _HEADER_OF_CUFFT.fullmatch(header_named(include)) is not None


def _kept(include: re.Match[str], directories: Sequence[Path]) -> str:
    name = header_named(include)
    if name.startswith("opencv"):
        return _OF_OPENCV
    host_only = is_of_host_library(name)
    return spaces(include.group()) if host_only or is_missing(include, directories) else include.group()


def _without_idle_macros(code: str) -> str:
    """Code with the text of those macros alone that it uses, also by others: those of a host may say `at::`."""
    parts = [DIRECTIVE.sub("", code)]
    macros = {found[1]: found[0] for found in MACRO.finditer(code)}
    while used := macros.keys() & set(_WORD.findall(parts[-1])):
        parts.append("\n".join(macros.pop(name) for name in used))
    return "\n".join(parts)


def _without(include: re.Match[str], idle: str) -> str:
    unused = re.fullmatch(idle, header_named(include)) if idle else None
    return spaces(include.group()) if unused else include.group()


def _of_host(include: re.Match[str], directories: Sequence[Path], words: str, around: str) -> str:
    """The directive, or in its place what the rest takes through it from CUDA, where that is one header.

    Args:
        around: code that may take it.
    """
    place = place_of(include, directories) if include["quoted"] else None
    texts = {} if place is None else {place: place.read_text("utf-8", "replace")}
    texts |= texts_reached("".join(texts.values()), directories, place)
    needed = [(one, path) for path, text in texts.items() for one in INCLUDE.finditer(text)]
    used = frozenset(_WORD.findall(words))
    if not any(_is_of_hosts(*one, directories) for one in needed) or not used.isdisjoint(_named_in(texts.values())):
        return include.group()
    brought = {header_named(one) for one, _ in needed}
    taken = [name for name, said in _OF_CUDA.items() if name in brought and said.search(around)]
    if len(taken) > 1:
        return include.group()
    return f"#include <{taken[0]}>" if taken else spaces(include.group())


def _is_of_hosts(include: re.Match[str], includer: Path, directories: Sequence[Path]) -> bool:
    """Whether a directive in a header of the project names one of a host library, or one that is nowhere."""
    is_nowhere = is_missing(include, directories) and place_of(include, directories, includer) is None
    return is_of_host_library(header_named(include)) or is_nowhere


def _named_in(headers: Iterable[str]) -> set[str]:
    """What headers give names to."""
    codes = [_NAMESPACE.sub("", code_only(text)) for text in headers]
    declared = {word for code in codes for groups in _DECLARED.findall(without_bodies(code)) for word in groups}
    return declared.union(*(names for code in codes for names in enumerators(code).values()))
