"""C types of kernel parameters as NumPy dtypes, the way CUDA, OpenCL and C on 64-bit Linux lay them out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language

ADDRESS_SPACES = frozenset({"global", "local", "constant", "private"})
_QUALIFIERS = frozenset({"const", "volatile", "restrict", "__restrict__", "__restrict", "__grid_constant__", "struct"})
_INTEGER_WORDS = frozenset({"unsigned", "signed", "char", "short", "int", "long"})
_NAMED = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "_Float16": "float16",
    "bool": "bool",
    "_Bool": "bool",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "intptr_t": "int64",
    "uintptr_t": "uint64",
    "uchar": "uint8",
    "ushort": "uint16",
    "uint": "uint32",
    "ulong": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_VECTOR = re.compile(r"((?:u?(?:char|short|int|long|longlong))|float|double|half|__half)(2|3|4|8|16)")


def type_words(type_text: str) -> list[str]:
    """The words of a type without qualifiers, address spaces and `std::`."""
    words = re.findall(r"\w+", type_text.replace("std::", ""))
    return [word for word in words if word not in _QUALIFIERS and word.strip("_") not in ADDRESS_SPACES]


def dtype_of(type_text: str, language: Language, aliases: Mapping[str, str]) -> tuple[str | None, int]:
    """The dtype of one element and how many elements the type holds, as in `float4`: ("float32", 4).

    Args:
        type_text: the type without pointers, as in "const unsigned int".
        aliases: what type names of the source stand for.

    Returns:
        (None, 1) for a type that is not known.
    """
    words = type_words(type_text)
    for _ in range(len(aliases)):
        if len(words) != 1 or words[0] not in aliases:
            break
        words = type_words(aliases[words[0]])
    if words and set(words) <= _INTEGER_WORDS:
        return _integer(words), 1
    if len(words) != 1:
        return None, 1
    vector = _VECTOR.fullmatch(words[0])
    if vector is None:
        return _NAMED.get(words[0]), 1
    width = int(vector[2])
    padded = 4 if width == 3 and COMPILED_LANGUAGES[language].pads_triples else width
    return _NAMED.get(vector[1]) or _integer([vector[1]]), padded


def _integer(words: list[str]) -> str:
    sign = "u" if "unsigned" in words else ""
    for word, bits in (("char", 8), ("short", 16), ("long", 64)):
        if word in words:
            return f"{sign}int{bits}"
    return f"{sign}int32"


def type_aliases(code: str) -> dict[str, str]:
    """What the `typedef`s and `using`s of the source stand for."""
    found = {name: meaning for meaning, name in re.findall(r"\btypedef\s+([\w\s:]+?)\s+(\w+)\s*;", code)}
    found |= dict(re.findall(r"\busing\s+(\w+)\s*=\s*([\w\s:]+?)\s*;", code))
    return found
