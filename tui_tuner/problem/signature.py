"""The kernels in a source file and the arguments they take, read with tree-sitter; C types as NumPy dtypes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from tree_sitter import Node

from tui_tuner.errors import ProblemError
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.structures import Member, structures
from tui_tuner.problem.syntax import (
    code_only,
    declared_name,
    functions,
    identifiers,
    launch_bounds_at,
    parameters_of,
    parse,
    strip_definitions,
)
from tui_tuner.text import nearest

__all__ = [
    "KernelParameter",
    "KernelSignature",
    "find_kernel",
    "find_kernels",
    "identifiers",
    "in_namespaces",
    "same_signature",
    "strip_definitions",
]


@dataclass(frozen=True)
class KernelParameter:
    """One parameter of a kernel.

    Attributes:
        name: empty where the source gives none.
        type_text: the type as written, with qualifiers, as in "const float *".
        pointer: whether it is a pointer or an array.
        const: whether the value, or what is pointed to, cannot be written.
        dtype: NumPy's name of one element; None for a type that is not known.
        width: elements of a vector type, 4 for float4.
    """

    name: str
    type_text: str
    pointer: bool
    const: bool
    dtype: str | None
    width: int = 1


@dataclass(frozen=True)
class KernelSignature:
    """A kernel function and what it takes.

    Attributes:
        line: where its name stands, counted from 1.
        template: its template parameters as written, as in ("typename T", "int N = 4").
        launch_bounds: what `__launch_bounds__` holds, as written.
        body: the text between its braces, comments blanked.
    """

    name: str
    parameters: tuple[KernelParameter, ...]
    line: int
    template: tuple[str, ...] = ()
    launch_bounds: str | None = None
    body: str = ""


def find_kernels(source: str, language: Language) -> list[KernelSignature]:
    """The kernels defined in the source, each name once, in the order of the source.

    These are `__global__` functions of CUDA, `__kernel` functions of OpenCL, functions of C that are not static.
    """
    code = code_only(source)
    aliases = type_aliases(code)
    found: dict[str, KernelSignature] = {}
    for function in functions(parse(code, language), code, language):
        signature = _signature(function, code, language, aliases)
        found.setdefault(signature.name, signature)
    return list(found.values())


def find_kernel(source: str, language: Language, name: str) -> KernelSignature:
    """The kernel of this name, which may carry template arguments, as in `scale<float>`.

    Raises:
        ProblemError: there is none; the hint lists what is there.
    """
    kernels = {kernel.name: kernel for kernel in find_kernels(source, language)}
    bare, _, arguments = name.partition("<")
    bare = bare.strip().rpartition("::")[2]
    if bare not in kernels:
        named = f" '{bare}'" if bare else ""
        raise ProblemError(f"the source has no kernel{named}", hint=_there_is(bare, kernels, language))
    kernel = kernels[bare]
    if not arguments:
        return kernel
    return _instantiated(kernel, [a.strip() for a in arguments.strip().removesuffix(">").split(",")], source, language)


def in_namespaces(name: str, source: str, language: Language) -> str:
    """A kernel's name with the namespaces that it stands in, where it is written without; template arguments stay."""
    code = code_only(source)
    if "::" in name.partition("<")[0] or "namespace" not in code:
        return name
    for function in functions(parse(code, language), code, language):
        if _signature(function, code, language, {}).name == name.partition("<")[0].strip():
            return "".join(f"{space}::" for space in reversed(list(_namespaces(function, code)))) + name
    return name


def _namespaces(function: Node, code: str) -> Iterator[str]:
    """The named namespaces around a function, the innermost first."""
    parent = function.parent
    while parent is not None:
        named = parent.child_by_field_name("name") if parent.type == "namespace_definition" else None
        if named is not None:
            yield code[named.start_byte : named.end_byte]
        parent = parent.parent


def same_signature(ours: KernelSignature, theirs: KernelSignature) -> str | None:
    """Why two kernels take different arguments, in words; None if the same launch fits both.

    Names of parameters, `const`, `restrict` and the vector width behind a pointer may differ.
    """
    if len(ours.template) != len(theirs.template):
        return f"{len(theirs.template)} template parameters instead of {len(ours.template)}"
    names, other_names = ([p.name for p in kernel.parameters] for kernel in (ours, theirs))
    if len(names) != len(other_names):
        return f"{len(other_names)} arguments ({', '.join(other_names)}) instead of {len(names)} ({', '.join(names)})"
    if names != other_names and sorted(names) == sorted(other_names):
        return f"the arguments stand in another order: {', '.join(other_names)} instead of {', '.join(names)}"
    for position, (a, b) in enumerate(zip(ours.parameters, theirs.parameters, strict=True), 1):
        if _layout(a) != _layout(b):
            return f"argument {position} is '{b.type_text} {b.name}' instead of '{a.type_text} {a.name}'"
    return None


def _layout(parameter: KernelParameter) -> tuple[object, ...]:
    element = parameter.dtype or " ".join(type_words(parameter.type_text))
    depth = parameter.type_text.count("*") + parameter.type_text.count("&")
    return parameter.pointer, element, depth, parameter.pointer or parameter.width


def _there_is(wanted: str, kernels: Mapping[str, KernelSignature], language: Language) -> str:
    if not kernels:
        word = COMPILED_LANGUAGES[language].kernel_word
        return f"there is none at all: a kernel is a function with {word} that has a body"
    there = "there is " + ", ".join(f"'{kernel.name}' (line {kernel.line})" for kernel in kernels.values())
    match = nearest(wanted, kernels)
    return there if match is None else f"did you mean '{match}'? {there}"


def _signature(function: Node, code: str, language: Language, aliases: Mapping[str, str]) -> KernelSignature:
    declarator = function.child_by_field_name("declarator")
    body = function.child_by_field_name("body")
    if declarator is None or body is None:
        raise ValueError("only definitions are kernels")
    name = declared_name(declarator)
    parameters = [_parameter(node, code, language, aliases) for node in parameters_of(function)]
    if len(parameters) == 1 and parameters[0].type_text == "void":
        parameters = []
    return KernelSignature(
        code[name.start_byte : name.end_byte],
        tuple(parameters),
        name.start_point.row + 1,
        tuple(_template(function, code)),
        launch_bounds_at(code, name.start_byte),
        code[body.start_byte + 1 : body.end_byte - 1],
    )


def _template(function: Node, code: str) -> Iterator[str]:
    parent = function.parent
    while parent is not None and parent.type != "template_declaration":
        parent = parent.parent
    listed = None if parent is None else parent.child_by_field_name("parameters")
    for node in [] if listed is None else listed.named_children:
        yield code[node.start_byte : node.end_byte]


def _parameter(node: Node, code: str, language: Language, aliases: Mapping[str, str]) -> KernelParameter:
    declarator = node.child_by_field_name("declarator")
    start = max(code.rfind(mark, 0, node.start_byte) for mark in "(,") + 1  # qualifiers that the grammar did not see
    element = code[start : node.end_byte if declarator is None else declarator.start_byte]
    name = None if declarator is None else declared_name(declarator)
    if name is None or name.type != "identifier":
        text, written = "", code[start : node.end_byte]
    else:
        text = code[name.start_byte : name.end_byte]
        written = code[start : name.start_byte] + " " + code[name.end_byte : node.end_byte]
    written = written.partition("=")[0]
    element, written = _without_aliases(element, code), _without_aliases(written, code)
    dtype, width = dtype_of(re.split(r"[*&\[]", element)[0], language, aliases)
    return KernelParameter(
        name=text,
        type_text=" ".join(written.replace("*", " * ").replace("&", " & ").split()),
        pointer=any(mark in written for mark in "*["),
        const=bool(re.search(r"\bconst\b", element)),
        dtype=dtype,
        width=width,
    )


_ALIAS = re.compile(
    r"(?:\btemplate\s*<(?P<parameters>[^<>{};]*)>\s*)?\busing\s+(?P<name>\w+)\s*=\s*(?P<meaning>[\w\s:<>*&]+);"
    r"|\btypedef\s+(?P<pointee>[\w\s:]+?\*[\s*\w]*?)\s*\b(?P<pointer>\w+)\s*;"
)


def _without_aliases(written: str, code: str) -> str:
    """A type with what alias templates, and names for pointers, stand for in it."""
    for one in _ALIAS.finditer(code):
        name, meaning = one["name"] or one["pointer"], one["meaning"] or one["pointee"]
        if one["parameters"] is None:
            written = re.sub(rf"\b{name}\b", meaning, written) if "*" in meaning else written
            continue
        names = [(re.findall(r"\w+", each) or [""])[-1] for each in one["parameters"].split(",")]
        for used in re.findall(rf"\b{name}\s*<([^<>]*)>", written):
            given = dict(zip(names, (each.strip() for each in used.split(",")), strict=False))
            said = re.sub(r"\w+", lambda word, given=given: given.get(word[0], word[0]), meaning)
            written = re.sub(rf"\b{name}\s*<{re.escape(used)}>", lambda _, said=said: said, written)
    return written


def _instantiated(kernel: KernelSignature, arguments: list[str], source: str, language: Language) -> KernelSignature:
    """The signature with its template parameters replaced by these arguments."""
    if len(arguments) > len(kernel.template):
        raise ProblemError(
            f"kernel '{kernel.name}' has {len(kernel.template)} template parameters, not {len(arguments)}",
            hint=f"line {kernel.line} of the source: template<{', '.join(kernel.template)}>",
        )
    names = [re.findall(r"\w+", text.partition("=")[0])[-1] for text in kernel.template]
    defaults = [text.partition("=")[2].strip() for text in kernel.template]
    values = list(chain(arguments, defaults[len(arguments) :]))
    aliases = type_aliases(code_only(source)) | dict(zip(names, values, strict=True))

    def bound(parameter: KernelParameter) -> KernelParameter:
        dtype, width = dtype_of(re.split(r"[*&\[]", parameter.type_text)[0], language, aliases)
        return replace(parameter, dtype=dtype, width=width)

    return replace(kernel, parameters=tuple(bound(parameter) for parameter in kernel.parameters))


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


_PACKED_MARK = "__times"
"""Between a type and how many of it a structure is made of, where no vector is."""


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


def type_aliases(code: str) -> dict[str, str]:
    """What the `typedef`s and `using`s of the source stand for."""
    found = {name: meaning for meaning, name in re.findall(r"\btypedef\s+([\w\s:]+?)\s+(\w+)\s*;", code)}
    found |= dict(_plain_structs(code))
    found |= dict(re.findall(r"\busing\s+(\w+)\s*=\s*([\w\s:]+?)\s*;", code))
    return found


def _plain_structs(code: str) -> Iterator[tuple[str, str]]:
    """The structures whose members are numbers of one type, as so many of them, which lie in memory like them."""
    known: dict[str, str] = {}
    for name, members in structures(code).items():
        parts = [_packed_of(one, known) for one in members or ()]
        types = {base for base, _ in parts}
        if len(types) == 1 and (base := types.pop()):
            known[name] = f"{base.replace(' ', '_of_')}{_PACKED_MARK}{sum(count for _, count in parts)}"
            yield name, known[name]


def _packed_of(member: Member, known: Mapping[str, str]) -> tuple[str, int]:
    """The type of the numbers that a member is made of, and how many; no type where it is made of others."""
    words = type_words(member.type_text)
    written = known.get(words[0], words[0]) if len(words) == 1 else " ".join(words)
    extents = [int(one) if one.isdecimal() else 0 for one in member.extents]
    base, _, packed = written.partition(_PACKED_MARK)
    vector = _VECTOR.fullmatch(base)
    base, width = (vector[1], int(vector[2])) if vector is not None else (base, 1)
    count = width * int(packed or 1) * math.prod(extents)
    return (base, count) if count else ("", 0)
