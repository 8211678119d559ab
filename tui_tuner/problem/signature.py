"""The kernels in a source file and the arguments they take, read with tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from tree_sitter import Node

from tui_tuner.errors import ProblemError
from tui_tuner.problem.by_value import Field
from tui_tuner.problem.c_types import dtype_of, type_aliases, type_words, without_aliases
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import (
    LAUNCH_BOUNDS,
    WORK_GROUP,
    code_only,
    declared_name,
    functions,
    held_before,
    name_in,
    parameters_of,
    parse_code,
    split_list,
)
from tui_tuner.text import nearest

_OF_ATTRIBUTES = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(__attribute__[ \t]*\(\([^\n]*\)\))[ \t]*$", re.MULTILINE
)


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
        members: of a structure that is passed by value, where they are known; none of one that only has functions.
        behind: the member of such a structure that points to it, as in "p.rows"; empty for what is a parameter.
        holds: the size that its only element is, where that is taken for one; empty for others.
    """

    name: str
    type_text: str
    pointer: bool
    const: bool
    dtype: str | None
    width: int = 1
    members: tuple[Field, ...] | None = None
    behind: str = ""
    holds: str = ""

    @property
    def local(self) -> bool:
        """Whether it points to memory of a work-group, of which a launch of OpenCL gives so many bytes."""
        return self.pointer and not {"local", "__local"}.isdisjoint(self.type_text.split())

    @property
    def is_array(self) -> bool:
        """Whether it points to memory that has a content before or after a launch."""
        return self.pointer and not self.local

    @property
    def is_list(self) -> bool:
        """Whether it points to addresses of arrays."""
        stars, extents = self.type_text.count("*"), self.type_text.count("[")
        return "(" not in self.type_text and (stars, extents) in ((2, 0), (1, 1))


@dataclass(frozen=True)
class KernelSignature:
    """A kernel function and what it takes.

    Attributes:
        line: where its name stands, counted from 1.
        template: its template parameters as written, as in ("typename T", "int N = 4").
        launch_bounds: what `__launch_bounds__` holds, as written.
        body: the text between its braces, comments blanked.
        work_group: what `reqd_work_group_size` holds, likewise.
        constants: numbers in constant memory that are taken for sizes.
    """

    name: str
    parameters: tuple[KernelParameter, ...]
    line: int
    template: tuple[str, ...] = ()
    launch_bounds: str | None = None
    body: str = ""
    work_group: str | None = None
    constants: tuple[KernelParameter, ...] = ()


def pointed_array(name: str, pointee: str, code: str, language: Language, behind: str) -> KernelParameter:
    """The array that a member of a structure points to, as if it were a parameter.

    Args:
        pointee: the member's type, as in "const float *".
        code: without comments, with what its type names stand for.
        behind: the member, as in "p.rows".
    """
    element = pointee.partition("*")[0]
    dtype, width = dtype_of(element, language, type_aliases(code))
    return KernelParameter(name, pointee, True, "const" in element.split(), dtype, width, behind=behind)


@lru_cache(maxsize=32)  # asked for one text over and over
def find_kernels(source: str, language: Language) -> tuple[KernelSignature, ...]:
    """The kernels defined in the source, each name once, in the order of the source.

    These are `__global__` functions of CUDA, `__kernel` functions of OpenCL, functions of C that are not static.
    """
    code = _with_attributes(code_only(source))
    aliases = type_aliases(code)
    found: dict[str, KernelSignature] = {}
    for function in functions(parse_code(code, language), code, language):
        signature = _signature(function, code, language, aliases)
        found.setdefault(signature.name, signature)
    return tuple(found.values())


def _with_attributes(code: str) -> str:
    """Code without comments in which attributes stand in the place of the file's own macros for them."""
    macros = {name: " ".join(body.split()) for name, body in _OF_ATTRIBUTES.findall(code)}
    if not macros:
        return code
    use = re.compile(rf"^(?![ \t]*#)[^\n]*\b(?:{'|'.join(macros)})\b[^\n]*", re.MULTILINE)
    named = use.sub(lambda line: re.sub(r"\w+", lambda word: macros.get(word[0], word[0]), line[0]), code)
    return _OF_ATTRIBUTES.sub(lambda definition: " " * len(definition[0]), named)  # which would be one of nothing


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
    return _instantiated(kernel, split_list(arguments.strip().removesuffix(">")), source, language)


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def in_namespaces(name: str, source: str, language: Language = "cuda") -> str:
    """A kernel's name with the namespaces around it, where it is written without.

    Template arguments that stand in the innermost of them get these too.
    """
    code = code_only(source)
    if "::" in name.partition("<")[0] or "namespace" not in code:
        return name
    for function in functions(parse_code(code, language), code, language):
        if _signature(function, code, language, {}).name == name.partition("<")[0].strip():
            around = list(_namespaces(function))
            spaces = "".join(f"{_name_of(one, code)}::" for one in reversed(around))
            bare, opening, arguments = name.partition("<")
            inside = code[around[0].start_byte : around[0].end_byte] if around else ""
            return f"{spaces}{bare}{opening}{_of_namespace(arguments, spaces, inside)}"
    return name


def _of_namespace(arguments: str, spaces: str, inside: str) -> str:
    """Template arguments with the namespaces in front of functions and types that stand in the innermost one."""

    def named(word: re.Match[str]) -> str:
        one = word[0]
        is_there = re.search(
            rf"\b(?:struct|class|enum|using)\s+{one}\b|[\w>&*]\s+{one}\s*\([^;{{}}]*\)\s*\{{"
            rf"|\benum\b[^{{}};]*\{{[^{{}}]*\b{one}\b|\bconst(?:expr)?\b[^;={{}}()]*\b{one}\s*=",
            inside,
        )
        return f"{spaces}{one}" if is_there else one

    return re.sub(r"(?<![\w:])[A-Za-z_]\w*", named, arguments) if spaces else arguments


def _namespaces(function: Node) -> Iterator[Node]:
    """The named namespaces around a function, the innermost first."""
    parent = function.parent
    while parent is not None:
        if parent.type == "namespace_definition" and parent.child_by_field_name("name") is not None:
            yield parent
        parent = parent.parent


def _name_of(namespace: Node, code: str) -> str:
    named = namespace.child_by_field_name("name")
    return "" if named is None else code[named.start_byte : named.end_byte]


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
    return parameter.pointer, parameter.local, element, depth, parameter.pointer or parameter.width


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
        held_before(code, name.start_byte, LAUNCH_BOUNDS),
        code[body.start_byte + 1 : body.end_byte - 1],
        held_before(code, name.start_byte, WORK_GROUP),
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
    element, written = without_aliases(element, code), without_aliases(written, code)
    dtype, width = dtype_of(re.split(r"[*&\[]", element)[0], language, aliases)
    return KernelParameter(
        name=text,
        type_text=" ".join(written.replace("*", " * ").replace("&", " & ").split()),
        pointer=any(mark in written for mark in "*["),
        const=bool(re.search(r"\b(?:__)?const\b", element)),
        dtype=dtype,
        width=width,
    )


def _instantiated(kernel: KernelSignature, arguments: list[str], source: str, language: Language) -> KernelSignature:
    """The signature with its template parameters replaced by these arguments."""
    if len(arguments) > len(kernel.template):
        raise ProblemError(
            f"kernel '{kernel.name}' has {len(kernel.template)} template parameters, not {len(arguments)}",
            hint=f"line {kernel.line} of the source: template<{', '.join(kernel.template)}>",
        )
    names = [name_in(text) for text in kernel.template]
    defaults = [text.partition("=")[2].strip() for text in kernel.template]
    values = list(chain(arguments, defaults[len(arguments) :]))
    aliases = type_aliases(code_only(source)) | dict(zip(names, values, strict=True))

    known = structures(code_only(source))
    given = zip(names, values, strict=True)
    classes = {name: value for name, value in given if value.partition("<")[0].rpartition("::")[2] in known}

    def bound(parameter: KernelParameter) -> KernelParameter:
        dtype, width = dtype_of(re.split(r"[*&\[]", parameter.type_text)[0], language, aliases)
        written = re.sub(r"\w+", lambda word: classes.get(word[0], word[0]), parameter.type_text)
        of_class = dict(zip(names, values, strict=True)) if "<" in written else {}
        written = re.sub(r"\w+", lambda word: of_class.get(word[0], word[0]), written)
        return replace(parameter, dtype=dtype, width=width, type_text=written)

    return replace(kernel, parameters=tuple(bound(parameter) for parameter in kernel.parameters))
