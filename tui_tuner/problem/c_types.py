"""The types of C and CUDA as NumPy dtypes, and what the names stand for that a source gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.structures import Member, structures

ADDRESS_SPACES = frozenset({"global", "local", "constant", "private"})
_QUALIFIERS = frozenset(
    {
        "const",
        "__const",
        "volatile",
        "restrict",
        "__restrict__",
        "__restrict",
        "__grid_constant__",
        "__device__",
        "struct",
        *(f"{mark}{access}" for mark in ("", "__") for access in ("read_only", "write_only", "read_write")),
    }
)
_INTEGER_WORDS = frozenset({"unsigned", "signed", "char", "short", "int", "long"})
_OF_VECTORS = {
    "half": "float16",
    "__half": "float16",
    "nv_bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "__hip_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn",
    "__nv_fp8_e5m2": "float8_e5m2",
}
"""Narrow types whose vectors are named by them and how many."""
_NAMED = {
    "float": "float32",
    "double": "float64",
    "_Float16": "float16",
    "__bf16": "bfloat16",
    "hip_bfloat16": "bfloat16",
    **_OF_VECTORS,
    "cufftReal": "float32",
    "cufftDoubleReal": "float64",
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
_VECTORS = {
    "cuComplex": "float2",
    "cuFloatComplex": "float2",
    "cuDoubleComplex": "double2",
    "cufftComplex": "float2",
    "cufftDoubleComplex": "double2",
    "cfloat_t": "float2",
    "cdouble_t": "double2",
    **{f"__nv_fp8x{width}_{kind}": f"__nv_fp8_{kind}{width}" for width in (2, 4) for kind in ("e4m3", "e5m2")},
}
"""Types that are as vectors by other names."""
_VECTOR = re.compile(rf"((?:u?(?:char|short|int|long|longlong))|float|double|{'|'.join(_OF_VECTORS)})(2|3|4|8|16)")
_COMPLEX = r"(?:(?:thrust|std|cuda\s*::\s*std|c10)\s*::\s*)complex\s*<\s*(?:float|double)\s*>"
_OF_LIBRARIES = (
    (re.compile(r"\b(?:c10|at)\s*::\s*Half\b"), "half"),
    (re.compile(r"\b(?:c10|at)\s*::\s*BFloat16\b"), "nv_bfloat16"),
    (re.compile(rf"\b{_COMPLEX.replace('(?:float|double)', '(float|double)')}"), r"\g<1>2"),
)
"""Types of libraries, as the vectors and narrow numbers that they are."""
_PACKED_MARK = "__times"
"""Between a type and how many of it a structure is made of, where no vector is."""


def type_words(type_text: str) -> list[str]:
    """The words of a type without qualifiers, address spaces and `std::`."""
    for written, meaning in _OF_LIBRARIES:
        type_text = written.sub(meaning, type_text)
    words = re.findall(r"\w+", type_text.replace("std::", ""))
    return [word for word in words if word not in _QUALIFIERS and word.strip("_") not in ADDRESS_SPACES]


def dtype_of(type_text: str, language: Language, aliases: Mapping[str, str]) -> tuple[str | None, int]:
    """The dtype of one element and how many elements the type holds, as in `float4`: ("float32", 4).

    Args:
        type_text: the type without pointers, as in "const unsigned int".
        aliases: what type names of the source stand for.

    Returns:
        (None, 1) for a type that is not known, or for a pointer.
    """
    if "*" in type_text:
        return None, 1
    words = type_words(type_text)
    for _ in range(len(aliases)):
        if len(words) != 1 or words[0] not in aliases:
            break
        words = type_words(aliases[words[0]])
    if words and set(words) <= _INTEGER_WORDS:
        return _integer(words), 1
    if len(words) != 1:
        return None, 1
    words = [_VECTORS.get(words[0], words[0])]
    base, _, packed = words[0].partition(_PACKED_MARK)
    if packed:
        return dtype_of(base.replace("_of_", " "), language, aliases)[0], int(packed)
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


_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([A-Za-z][\w \t]*?)[ \t]*$", re.MULTILINE)


def type_aliases(code: str) -> dict[str, str]:
    """What the `typedef`s and `using`s of the source stand for."""
    found = {name: meaning for name, meaning in _DEFINED.findall(code) if dtype_of(meaning, "cuda", {})[0] is not None}
    typedefs = re.findall(rf"\btypedef\s+([\w\s:]+?|{_COMPLEX})\s+(\w+)\s*;", code)
    found |= {name: meaning for meaning, name in typedefs}
    for name in {name for meaning, name in typedefs if meaning != found[name]}:
        del found[name]  # it depends on macros which of them it is
    found |= dict(_plain_structs(code))
    found |= dict(re.findall(rf"\busing\s+(\w+)\s*=\s*([\w\s:]+?|{_COMPLEX})\s*;", code))
    return found


def meant(written: str, code: str) -> str:
    """A type with what its words stand for in its place, as by `#define TensorAcc4R PackedTensorAccessor32<T, 4>`."""

    def said(word: re.Match[str]) -> str:
        name = re.escape(word[0])
        defined = rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+([^\n]+)"
        given = rf"{defined}|\busing\s+{name}\s*=([^;]+);|\btypedef\b([^;{{}}]+)\b{name}\s*;"
        found = re.search(given, code, re.MULTILINE)
        return word[0] if found is None else next(filter(None, found.groups()))

    return re.sub(r"[A-Za-z_]\w*", said, written)


def types_in(code: str) -> frozenset[str]:
    """The names that the source gives types, those that its templates leave open among them."""
    named = r"\b(?:typename|class|struct|union|enum|using)\s+(\w+)|\btypedef\b[^;{}]*?\b(\w+)\s*;|\}\s*(\w+)\s*;"
    return frozenset({*type_aliases(code), *(name for found in re.findall(named, code) for name in found if name)})


def _plain_structs(code: str) -> Iterator[tuple[str, str]]:
    """The structures whose members are numbers of one type, as so many of them, which lie in memory like them."""
    known: dict[str, str] = {}
    for name, members in structures(code).items():
        parts = [_packed_of(one, known) for one in members or ()]
        types = {base for base, _, _ in parts}
        total, has_gaps = 0, False
        for _, count, aligned in parts:
            has_gaps |= count == 0 or total % aligned != 0
            total += count
        has_gaps |= any(total % aligned for _, _, aligned in parts)
        if len(types) == 1 and not has_gaps:
            known[name] = f"{types.pop().replace(' ', '_of_')}{_PACKED_MARK}{total}"
            yield name, known[name]


def _packed_of(member: Member, known: Mapping[str, str]) -> tuple[str, int, int]:
    """The type of the numbers that a member is made of, how many, and to how many it is aligned; 0 for others."""
    if "*" in member.type_text:
        return "", 0, 1
    words = type_words(member.type_text)
    written = known.get(words[0], words[0]) if len(words) == 1 else " ".join(words)
    extents = [int(one) if one.isdecimal() else 0 for one in member.extents]
    base, _, packed = written.partition(_PACKED_MARK)
    vector = _VECTOR.fullmatch(base)
    base, width = (vector[1], int(vector[2])) if vector is not None else (base, 1)
    return base, width * int(packed or 1) * math.prod(extents), width if width in (2, 4) else 1


_ALIAS = re.compile(
    r"(?:\btemplate\s*<(?P<parameters>[^<>{};]*)>\s*)?\busing\s+(?P<name>\w+)\s*=\s*(?P<meaning>[\w\s:<>*&]+);"
    r"|\btypedef\s+(?P<pointee>[\w\s:]+?\*[\s*\w]*?)\s*\b(?P<pointer>\w+)\s*;"
)


def without_aliases(written: str, code: str) -> str:
    """A type with what alias templates, and names for pointers, stand for in it."""
    for one in _ALIAS.finditer(code):
        name, meaning = one["name"] or one["pointer"], one["meaning"] or one["pointee"]
        if one["parameters"] is None:
            written = re.sub(rf"\b{name}\b", meaning, written) if "*" in meaning else written
            continue
        names = [(re.findall(r"\w+", each) or [""])[-1] for each in one["parameters"].split(",")]
        for used in re.findall(rf"\b{name}\s*<([^<>]*)>", written):
            given = dict(zip(names, (each.strip() for each in used.split(",")), strict=False))
            said = "".join(given.get(str(word), str(word)) for word in re.split(r"(\w+)", meaning))
            written = said.join(re.split(rf"\b{name}\s*<{re.escape(used)}>", written))
    return written


def alias_in(code: str, name: str) -> str | None:
    """What the last `typedef` or `using` of a name says it is, as "typename Pixel<n>::type"; None where none does."""
    plain = re.escape(name)
    found = re.findall(rf"\btypedef\s+([^;{{}}]+?)\s+{plain}\s*;|\busing\s+{plain}\s*=\s*([^;{{}}]+?)\s*;", code)
    return (found[-1][0] or found[-1][1]) if found else None


def member_type(code: str, structure: str, arguments: str, name: str) -> str | None:
    """A type that a class template names where it is specialised for these arguments."""
    said = r"\s*,\s*".join(re.escape(one.strip()) for one in arguments.split(","))
    special = re.search(rf"\bstruct\s+{re.escape(structure)}\s*<\s*{said}\s*>\s*\{{([^{{}}]*)\}}", code)
    return None if special is None else alias_in(special[1], name)
