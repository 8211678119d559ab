"""Structures that a kernel takes by value: the types of their members, and how they lie in memory."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tui_tuner.problem.argument import POINTER
from tui_tuner.problem.c_types import dtype_of, meant, type_aliases, type_words
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.model import Language, Member
from tui_tuner.problem.structures import Member as Declared
from tui_tuner.problem.structures import structures, template_of

MOST_ELEMENTS = 64
"""Of all members together; CUDA passes 4 KB at most."""
_DEEPEST = 8
"""Structures within each other: a source may have one hold itself, which no compiler takes."""
_MOST_STEPS = 4
"""Names that stand for names, as an extent may be of."""
_LONGEST_EXTENT = 200
"""Characters: names that stand for names, each several times, would fill the memory."""
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong|float|double|half)|__half|__nv_bfloat16)(?P<width>[234])")


@dataclass(frozen=True)
class Field:
    """One number, array or vector that a structure holds.

    Attributes:
        name: the member's; of one in a structure within it with that one's before it, as in "camera.width".
        dtype: of one element; "pointer" for an address.
        count: elements of an array or a vector; None for a single number.
        alignment: bytes, where it is more than that of the dtype; else None.
        pointee: the type of a pointer, as in "const float *".
    """

    name: str
    dtype: str
    count: int | None = None
    alignment: int | None = None
    pointee: str = field(default="", compare=False)

    def words(self) -> str:
        """As a declaration, with NumPy's name of the type."""
        return f"{self.dtype} {self.name}{'' if self.count is None else f'[{self.count}]'}"

    @property
    def lies_at(self) -> int:
        """Bytes of which its place is a multiple."""
        return self.alignment or stored_as(self.dtype).itemsize


@dataclass(frozen=True)
class Unknown:
    """Why a structure cannot be passed by value: the member, and what is wrong with it."""

    member: str
    reason: str
    holds_pointer: bool = False

    def words(self) -> str:
        """What is wrong, in words."""
        return f"its member '{self.member}' {self.reason}" if self.member else f"it {self.reason}"


def fields_of(
    type_text: str, code: str, language: Language, deepest: int = _DEEPEST
) -> tuple[Field, ...] | Unknown | None:
    """The members of a type that is a structure of the code, or a vector; None for any other type.

    Args:
        code: the source, and the headers beside it, without comments.
        deepest: how many structures may be within each other.
    """
    bare, _, given = type_text.partition("<")
    words = type_words(re.sub(r"\w+\s*::\s*", "", bare))  # of whatever namespace
    if len(words) != 1:
        return None
    if (known_to_all := _known_to_all(words[0], type_text, code, language)) is not None:
        return known_to_all
    known, aliases = structures(code), type_aliases(code)
    if words[0] not in known:
        return None
    meant, members = _given_to(words[0], given, code), known[words[0]]
    if members is None:
        pointer = _pointer_in(words[0], code)
        if pointer:
            return Unknown(pointer, "is a pointer", holds_pointer=True)
        return Unknown("", "is no plain data")
    fields: list[Field] = []
    behind = 1  # what a structure within this one fills up to before the next member
    for member in members:
        said = re.sub(r"\w+", lambda word: meant.get(word[0], word[0]), member.type_text)
        found = _fields(member._replace(type_text=said), code, language, aliases, deepest)
        if isinstance(found, Unknown):
            return found
        first = found[0]
        fields += [replace(first, alignment=behind) if behind > first.lies_at else first, *found[1:]]
        behind = max(one.lies_at for one in found) if "." in first.name else 1
        if sum(one.count or 1 for one in fields) > MOST_ELEMENTS:
            return Unknown("", f"has more than {MOST_ELEMENTS} elements")
    return tuple(fields)


VIEW = "PackedTensorAccessor"
VIEW_MEMBERS = ("data_", "sizes_", "strides_")
_VIEW = re.compile(
    rf"\b(?:Generic)?{VIEW}(?P<bits>32|64)?\s*"
    r"<\s*(?P<type>[^<>,]+?)\s*,\s*(?P<rank>\d)\s*(?:,[^,<>]*)?(?:,(?P<index>[^,<>]*))?>"
)
"""PyTorch's view of a tensor that a kernel takes by value, as `pytorch_device.h` declares it."""


def _of_view(view: re.Match[str]) -> tuple[Field, ...]:
    rank, is_short = int(view["rank"]), view["bits"] == "32" or re.search(r"\bint(?:32_t)?\b", view["index"] or "")
    index = "int32" if is_short else "int64"
    data, *extents = VIEW_MEMBERS
    return Field(data, POINTER, pointee=f"{view['type']} *"), *(Field(one, index, rank) for one in extents)


def _known_to_all(name: str, type_text: str, code: str, language: Language) -> tuple[Field, ...] | None:
    """The members of a vector of CUDA, or a view of PyTorch's; None of what a source declares."""
    if VIEW in code and (view := _VIEW.search(meant(type_text, code))) is not None:
        return _of_view(view)
    vector = _VECTOR.fullmatch(name)
    return _of_vector(name, int(vector["width"]), language) if vector else None


def _given_to(structure: str, given: str, code: str) -> dict[str, str]:
    """What the parameters of a class template stand for where it is used with these arguments."""
    arguments = (" ".join(one.split()) for one in given.rstrip("> ").split(","))
    return dict(zip(template_of(structure, code), arguments, strict=False))


def _of_vector(name: str, width: int, language: Language) -> tuple[Field, ...] | None:
    dtype, _ = dtype_of(name, language, {})
    if dtype is None:
        return None
    alignment = _alignment_of(dtype, width)
    return tuple(Field(axis, dtype, None, alignment if axis == "x" else None) for axis in "xyzw"[:width])


def _alignment_of(dtype: str, width: int) -> int | None:
    """Of a vector of CUDA, bytes; None for that of its element."""
    return min(16, width * dtype_named(dtype).itemsize) if width in (2, 4) else None


def _fields(
    member: Declared, code: str, language: Language, aliases: dict[str, str], deepest: int
) -> tuple[Field, ...] | Unknown:
    """A member as what it holds: itself, or the members of the structure that it is."""
    kind = type_words(member.type_text.partition("<")[0])[-1]
    if "*" in member.type_text or kind not in structures(code):
        if not member.name:
            return Unknown("", "is no plain data")
        if "*" in member.type_text and member.extents and language != "opencl":
            return _pointers(member, code)
        field = _field(member, code, language, aliases)
        return field if isinstance(field, Unknown) else (field,)
    if deepest == 0:
        return Unknown(member.name, f"is of type {member.type_text}, too deep within others")
    within = fields_of(member.type_text, code, language, deepest - 1) if not member.extents else None
    if isinstance(within, Unknown):
        return replace(within, member=".".join(filter(None, (member.name, within.member))))
    if within and not member.name:
        return within if _fills_all(within) else Unknown("", "is derived of what leaves bytes free at its end")
    if not within:
        return Unknown(member.name, f"is {'an array of' if member.extents else 'of type'} {member.type_text}")
    alignment = max(one.lies_at for one in within)
    first = within[0] if alignment == within[0].lies_at else replace(within[0], alignment=alignment)
    return tuple(replace(one, name=f"{member.name}.{one.name}") for one in (first, *within[1:]))


def _fills_all(fields: Sequence[Field]) -> bool:
    """Whether a structure has no bytes behind its last member, where what is derived of it may have some of its own."""
    more = Field("more", "int8")
    return structure_bytes((*fields, more)) > structure_bytes(fields)


def _field(member: Declared, code: str, language: Language, aliases: dict[str, str]) -> Field | Unknown:
    if "*" in member.type_text:
        if language == "opencl" or member.type_text.count("*") > 1:
            what = "is a pointer" if language == "opencl" else "is a pointer to pointers"
            return Unknown(member.name, what, holds_pointer=True)
        return Field(member.name, POINTER, pointee=member.type_text)
    dtype, width = dtype_of(member.type_text, language, aliases)
    if dtype is None:
        return Unknown(member.name, f"is of type {member.type_text}")
    extents = [_extent(one, code) for one in member.extents]
    if not all(extents):
        return Unknown(member.name, f"has an extent that no number is known for: {', '.join(member.extents)}")
    count = math.prod(extents) * width
    alignment = _alignment_of(dtype, width) if width > 1 else None
    return Field(member.name, dtype, count if extents or width > 1 else None, alignment)


def _pointers(member: Declared, code: str) -> tuple[Field, ...] | Unknown:
    """The pointers of an array, each a member by itself, as "rows[0]"."""
    count = math.prod(_extent(one, code) for one in member.extents)
    if not 0 < count <= MOST_ELEMENTS or member.type_text.count("*") > 1 or len(member.extents) > 1:
        what = f"is a list of pointers that is not of one extent, stated as a number up to {MOST_ELEMENTS}"
        return Unknown(member.name, what, holds_pointer=True)
    return tuple(Field(f"{member.name}[{at}]", POINTER, pointee=member.type_text) for at in range(count))


def _extent(text: str, code: str) -> int:
    """An extent of numbers, and of names that the code states numbers for; 0 where it comes to none."""

    def stated(word: re.Match[str]) -> str:
        name = re.escape(word[0])
        found = re.search(rf"#[ \t]*define[ \t]+{name}[ \t]+([^\n]+)|\b{name}\s*=\s*(\d+)\s*[;,}}]", code)
        return f"({found[1] or found[2]})" if found else word[0]

    for _ in range(_MOST_STEPS):
        if len(text) > _LONGEST_EXTENT:
            return 0
        text = re.sub(r"\b[A-Za-z_]\w*", stated, text)
    try:
        number = evaluate(re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text).replace("/", "//"), {})
    except ExpressionError:
        return 0
    return number if isinstance(number, int) and number > 0 else 0


def _pointer_in(structure: str, code: str, deepest: int = _DEEPEST) -> str:
    """The first member of a structure, or of what it is derived of, that is a pointer; empty where none is."""
    plain = re.escape(structure)
    base = re.search(rf"\bstruct\s+{plain}\s*:\s*(?:public\s+)?(?:\w+\s*::\s*)*(\w+)", code)
    if base is not None:
        return _pointer_in(base[1], code, deepest - 1) if deepest else ""
    body = re.search(rf"\bstruct\s+{plain}\s*\{{([^{{}}]*)|\bstruct\b[\w\s]*\{{([^{{}}]*)\}}\s*{plain}\s*;", code)
    text = (body[1] or body[2]) if body else ""
    pointer = re.search(r"\*\s*(?:(?:const|__restrict__|__restrict)\s+)*(\w+)\s*[;,]", text)
    return pointer[1] if pointer else ""


def stored_as(dtype: str) -> np.dtype:
    """What a member lies in memory as: an address as a whole number."""
    return dtype_named("uint64" if dtype == POINTER else dtype)


def layout(members: Sequence[Member]) -> np.dtype:
    """How the members lie in memory: each at a multiple of its alignment, as C has it."""
    offset, largest = 0, 1
    offsets: list[int] = []
    formats: list[Any] = []
    for member in members:
        dtype = stored_as(member.dtype)
        alignment = member.alignment or dtype.itemsize
        offset = -(-offset // alignment) * alignment
        offsets.append(offset)
        formats.append(dtype if member.elements is None else (dtype, (member.elements,)))
        offset += dtype.itemsize * (member.elements or 1)
        largest = max(largest, alignment)
    size = -(-offset // largest) * largest or 1  # C++ gives each object a place of its own
    names = [member.name for member in members]
    told: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
    found: np.dtype = np.dtype(told, metadata={"alignment": largest})
    return found


def structure_bytes(fields: Sequence[Field]) -> int:
    """What `sizeof` says of a structure with these members."""
    members = [
        Member(name=one.name, dtype=stored_as(one.dtype).name, count=one.count, alignment=one.alignment)  # type: ignore[arg-type]
        for one in fields
    ]
    return layout(members).itemsize


def as_ctypes(value: np.void) -> ctypes.Structure:
    """A structure as a C function takes it: of members in their own types, by which registers are chosen."""
    parts: list[tuple[str, Any]] = []
    end, most = 0, 1
    for name, (dtype, offset) in sorted(_places(value), key=lambda one: one[1][1]):
        element = np.ctypeslib.as_ctypes_type(dtype.base)
        most = max(most, ctypes.alignment(element))
        parts += _free(end, offset, ctypes.alignment(element))
        parts.append((name, element * dtype.shape[0] if dtype.shape else element))
        end = offset + dtype.itemsize
    parts += _free(end, value.dtype.itemsize, most)
    made: type[ctypes.Structure] = type("Structure", (ctypes.Structure,), {"_fields_": parts})
    found: ctypes.Structure = made.from_buffer_copy(value.tobytes())
    return found


def _places(value: np.void) -> list[tuple[str, tuple[Any, int]]]:
    """The members by name, each with its type and the bytes before it."""
    return [(name, (one[0], one[1])) for name, one in (value.dtype.fields or {}).items()]


def _free(end: int, offset: int, alignment: int) -> list[tuple[str, Any]]:
    """The bytes that lie free before an offset where the alignment of what follows does not say so by itself."""
    is_natural = -(-end // alignment) * alignment == offset
    return [] if is_natural else [(f"free before {offset}", ctypes.c_byte * (offset - end))]


def in_one_block(values: Sequence[np.generic]) -> np.void:
    """The arguments of a launch as the block of memory that a kernel reads them from, each where it has to lie."""
    block = bytearray()
    for value in values:
        block += bytes(-len(block) % alignment_of(value.dtype))
        block += value.tobytes()
    return np.void(bytes(block))


def alignment_of(dtype: np.dtype) -> int:
    """Bytes of which an argument of this type lies at a multiple."""
    if dtype.names is None:
        return dtype.itemsize
    told: Mapping[Any, Any] = dtype.metadata or {}
    return int(told.get("alignment", 0)) or max(dtype[name].base.itemsize for name in dtype.names)
