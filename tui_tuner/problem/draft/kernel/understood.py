"""A kernel's signature with what its text says beyond it: what `void *` points to, what structures hold, what it calls.

What is drafted is guessed from this; two kernels are never compared by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tui_tuner.problem.by_value import fields_of
from tui_tuner.problem.c_types import dtype_of, type_aliases, type_words
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.templates import OPEN_TYPE
from tui_tuner.problem.draft.kernel.casts import without_brackets
from tui_tuner.problem.draft.kernel.guesses import is_counted_by, is_whole, outputs, with_held_sizes
from tui_tuner.problem.draft.kernel.moves import with_moves
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelParameter, KernelSignature, pointed_array
from tui_tuner.problem.structures import enumerators, structures
from tui_tuner.problem.syntax import POINTER_TO_FUNCTION, code_only, list_at, name_in, split_list
from tui_tuner.problem.tunables import why_no_size

_MOST_CALLS = 4
_TEMPLATE_ARGUMENTS = {"typename": OPEN_TYPE, "class": OPEN_TYPE, "bool": "true"}
_IN_CONSTANTS = re.compile(
    r"(?<!extern )\b__constant__\s+(?:(?:static|const)\s+)*(?P<type>[\w\s]+?)\s+(?P<names>\w+(?:\s*,\s*\w+)*)\s*;"
)
_POINTED = r"(?:const\s+)?([A-Za-z_](?:[\w ]*\w)?)\s*\*\s*(?:__restrict(?:__)?\s*)?"
_LOOPS_OF_PYTORCH = """
#define CUDA_KERNEL_LOOP_TYPE(i, n, type) \\
    for (type i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
"""
_RESTRICT = re.compile(r"\b__restrict(?:__)?\b|\brestrict\b")


def understood(
    signature: KernelSignature, source: str, code: str, language: Language, template: str = ""
) -> KernelSignature:
    """The kernel with what it calls, what its structures hold, and what it takes its `void` pointers for.

    Args:
        code: that of the source and of its headers, without comments.
        template: the arguments that stand for the template's parameters, as in "<float, 16>"; empty for none.
    """
    given = dict(zip(map(name_in, signature.template), split_list(template[1:-1]), strict=False))
    called = _with_types_of_headers(_with_lists(with_called(signature, source, code)), code, language)
    pointed = _with_pointed(_with_members(called, code, language), code, language)
    typed = _with_casts(pointed, code, language, given)
    known = _with_bits(_with_members(typed, code, language), code_only(source))
    moved = replace(known, body=with_moves(known.body, [one.name for one in known.parameters if one.is_array]))
    held = with_held_sizes(moved) if COMPILED_LANGUAGES[language].has_blocks else moved
    return replace(held, constants=tuple(_sizes_in_constants(held, code))) if language == "cuda" else held


def _sizes_in_constants(signature: KernelSignature, code: str) -> Iterator[KernelParameter]:
    """The whole numbers in constant memory, of no value where they are declared, that the kernel takes for sizes."""
    aliases, taken = type_aliases(code), {one.name for one in signature.parameters}
    for declared in _IN_CONSTANTS.finditer(code):
        dtype, width = dtype_of(declared["type"], "cuda", aliases)
        for name in re.findall(r"\w+", declared["names"]):
            one = KernelParameter(name, declared["type"], pointer=False, const=True, dtype=dtype, width=width)
            is_size = name not in taken and why_no_size(name) is None and is_counted_by(name, signature.body)
            if is_whole(one) and is_size:
                yield one


def _with_types_of_headers(signature: KernelSignature, code: str, language: Language) -> KernelSignature:
    """The kernel whose arrays and scalars have the types that names stand for which only its headers give.

    Enumerations are whole numbers, as they are passed.
    """
    aliases = {**dict.fromkeys(enumerators(code), "int"), **type_aliases(code)}

    def with_type(parameter: KernelParameter) -> KernelParameter:
        words = type_words(parameter.type_text)
        is_open = parameter.dtype is None and parameter.members is None and parameter.type_text.count("*") < 2
        if not is_open or "&" in parameter.type_text or len(words) != 1 or words[0] not in aliases:
            return parameter
        dtype, width = dtype_of(words[0], language, aliases)
        return parameter if dtype is None else replace(parameter, dtype=dtype, width=width)

    return replace(signature, parameters=tuple(map(with_type, signature.parameters)))


def _with_lists(signature: KernelSignature) -> KernelSignature:
    """The kernel with an array in its text for each element of a list of addresses."""
    body = signature.body
    for parameter in signature.parameters:
        if parameter.is_list:
            body = re.sub(rf"\b{re.escape(parameter.name)}\s*\[(?:[^][]|\[[^][]*\])*\]", parameter.name, body)
    return replace(signature, body=body)


def _with_casts(signature: KernelSignature, code: str, language: Language, given: Mapping[str, str]) -> KernelSignature:
    """The kernel whose `void` pointers are of the first known type that its text takes them for."""
    aliases = type_aliases(code)

    def with_type(parameter: KernelParameter) -> KernelParameter:
        if not parameter.pointer or type_words(parameter.type_text)[:1] != ["void"]:
            return parameter
        name = re.escape(parameter.name or "?")
        casts = rf"(?:\(\s*{_POINTED}\)|_cast\s*<\s*{_POINTED}>)\s*\(?\s*{name}\b"
        for found in re.finditer(casts, signature.body):
            written = re.sub(r"\s*\bconst\b", "", found[1] or found[2])
            kind = given.get(written, written)
            dtype, width = dtype_of(kind, language, aliases)
            if dtype is not None or isinstance(fields_of(kind, code, language), tuple):
                said = re.sub(r"\bvoid\b", kind, parameter.type_text)
                return replace(parameter, type_text=said, dtype=dtype, width=width)
        return parameter

    return replace(signature, parameters=tuple(map(with_type, signature.parameters)))


def with_called(signature: KernelSignature, source: str, around: str = "") -> KernelSignature:
    """The kernel with its macros put in, and behind that the bodies of functions that it calls, in the calls' words.

    Args:
        around: code of headers, for their macros.
    """
    code = code_only(source)
    program = HostProgram(code)
    macros = HostProgram("\n".join([_LOOPS_OF_PYTORCH, around, code]))
    body = without_brackets(macros.without_macros(signature.body))
    for function in reversed(program.functions):  # who is called stands before who calls
        for call in list(re.finditer(rf"\b{function.name}\s*(?:<[^<>;]*>)?\s*\(", body))[:_MOST_CALLS]:
            given = list_at(body, call.end() - 1)
            if len(given) == len(function.parameters) and function.name != signature.name:
                meant = dict(zip(function.parameters, given, strict=True))
                words = re.split(r"(\b[A-Za-z_]\w*)", code[function.body : function.end - 1])
                body += "\n" + "".join(meant.get(word, word) for word in words)
    return replace(signature, body=body)


def _with_members(signature: KernelSignature, code: str, language: Language) -> KernelSignature:
    """The kernel with the members of the structures that it takes, by value or as arrays of several types."""

    def with_members(parameter: KernelParameter) -> KernelParameter:
        is_other = parameter.local or parameter.dtype is not None or parameter.type_text.count("*") > 1
        if "&" in parameter.type_text or (parameter.pointer and is_other):
            return parameter
        found = fields_of(parameter.type_text, code, language)
        in_array = parameter.pointer and isinstance(found, tuple) and any(one.pointee for one in found)
        return replace(parameter, members=found) if isinstance(found, tuple) and not in_array else parameter

    return replace(signature, parameters=tuple(map(with_members, signature.parameters)))


def _with_pointed(signature: KernelSignature, code: str, language: Language) -> KernelSignature:
    """The kernel with the arrays that its structures point to behind each of these, and in its text by their names.

    Where a member is a list of pointers, and the text takes one by a number that changes, it is there once for each.
    """
    parameters, body = list[KernelParameter](), signature.body
    listed: dict[str, list[str]] = {}
    taken = {parameter.name for parameter in signature.parameters}
    for parameter in signature.parameters:
        parameters.append(parameter)
        for member in () if parameter.pointer else parameter.members or ():
            if member.pointee:
                path = f"{parameter.name}.{member.name}"
                name = re.sub(r"\W+", "_", path).strip("_")
                name += "_array" if name in taken else ""
                parameters.append(pointed_array(name, member.pointee, code, language, path))
                if path.endswith("]"):
                    listed.setdefault(path[: path.rindex("[")], []).append(name)
                    continue
                body = re.sub(r"(?<![\w.>])" + r"\s*\.\s*".join(map(re.escape, path.split("."))) + r"\b", name, body)
    most = max(map(len, listed.values()), default=1)
    bodies = dict.fromkeys(_of_lists(body, listed, at) for at in range(most))
    return replace(signature, parameters=tuple(parameters), body="\n".join(bodies))


def _of_lists(body: str, listed: Mapping[str, Sequence[str]], at: int) -> str:
    """The text with the names of arrays for lists of pointers: by the number that it says, else by this one.

    The names that it gives them, as in `float *p = list.rows[i];`, are other ones in each such text.
    """
    aliases = set[str]()
    for path, names in listed.items():
        plain = r"\s*\.\s*".join(map(re.escape, path.split(".")))
        element = rf"(?<![\w.>]){plain}\s*\[((?:[^][]|\[[^][]*\])*)\]"

        def name(found: re.Match[str], names: Sequence[str] = names) -> str:
            own = found[1].strip()
            return names[min(int(own) if own.isdecimal() else at, len(names) - 1)]

        body = re.sub(element, name, body)
        held = rf"[*&]\s*(?:(?:const|__restrict__|__restrict)\s+)*(\w+)\s*=(?!=)[^;]*\b(?:{'|'.join(names)})\b"
        aliases.update(re.findall(held, body))
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda word: f"{word[0]}_{at}" if word[0] in aliases else word[0], body)


def _with_bits(signature: KernelSignature, code: str) -> KernelSignature:
    """The kernel with arrays of structures of several types as the whole numbers that their bits are.

    Only those that it does not read: what bits are drawn at random is no number.
    """
    reads = outputs(signature)
    known = structures(code)

    def bits(parameter: KernelParameter) -> KernelParameter:
        members = known.get((type_words(parameter.type_text) or [""])[-1]) if parameter.pointer else None
        if parameter.dtype is not None or not members or reads.get(parameter.name, True):
            return parameter
        aliases = type_aliases(code)
        sizes = [dtype_of(one.type_text, "cuda", aliases) for one in members]
        counts = [int(extent) if extent.isdecimal() else 0 for one in members for extent in one.extents]
        if not all(dtype is not None and dtype[-2:] == "32" for dtype, _ in sizes) or not all(counts):
            return parameter
        each = zip(members, sizes, strict=True)
        words = sum(width * math.prod(int(extent) for extent in one.extents) for one, (_, width) in each)
        return replace(parameter, dtype="int32", width=words, members=None)

    return replace(signature, parameters=tuple(map(bits, signature.parameters)))


def template_arguments(signature: KernelSignature, source: str) -> str:
    """Arguments for the parameters of a template, as in "<float, 16>": what the file instantiates, else usual ones."""
    code = code_only(source)
    arguments = _instantiated(signature, code) if signature.template else []
    left = signature.template[len(arguments) :]
    arguments += [_template_argument(text, code) for text in left if "=" not in text]
    return f"<{', '.join(arguments)}>" if signature.template else ""


def _instantiated(signature: KernelSignature, code: str) -> list[str]:
    """The arguments of the first instance that code asks for, in the order of the template; empty where it asks none.

    Types that it leaves out are those of the arguments that it lists; from one that nothing says on there are none.
    """
    program = HostProgram(code)
    listed = r"\(([^;{}]*)\)\s*;"
    asked = rf"\btemplate\s+(?!<)[^;{{}}]*?\b{re.escape(signature.name)}\s*(?:<((?:[^<>]|<[^<>]*>)*)>\s*)?{listed}"
    found = re.search(asked, program.code)
    if found is None:
        return []
    given = split_list(found[1] or "")
    for parameter in signature.template[len(given) :]:
        kind = _deduced(name_in(parameter), signature, split_list(found[2]))
        if not kind:
            break
        given.append(kind)
    return [program.templates.argument(one, found.start()) or one for one in given]


def _deduced(name: str, signature: KernelSignature, listed: Sequence[str]) -> str:
    """The type that stands for a parameter of the template where arguments are listed; empty where none says it."""
    for parameter, text in zip(signature.parameters, listed, strict=False):
        parts = re.findall(r"\w+|[*&]", _RESTRICT.sub("", parameter.type_text))
        if parts.count(name) == 1:
            words = (r"([\w:]+(?:\s+[\w:]+)*?)" if one == name else re.escape(one) for one in parts)
            said = re.fullmatch(r"\s*".join(words) + r"\s*\w*", _RESTRICT.sub("", text).strip())
            if said is not None:
                return said[1]
    return ""


def _template_argument(text: str, code: str) -> str:
    """An argument for a template parameter: the first function or enumerator that it can be, else what is usual."""
    kind = text.split(maxsplit=1)[0]
    if (pointer := POINTER_TO_FUNCTION.search(text)) is not None:
        wanted = len(split_list(pointer["parameters"]))
        functions = [one for one in HostProgram(code).functions if len(one.parameters) == wanted]
        of_device = (one.name for one in functions if "__device__" in _head(code, one.start))
        return next(of_device, "nullptr")
    return next(iter(enumerators(code).get(kind, [])), _TEMPLATE_ARGUMENTS.get(kind, "16"))


def _head(code: str, name: int) -> str:
    """What stands before the name of a function since the last statement."""
    return code[max(code.rfind(mark, 0, name) for mark in ";{}") + 1 : name]
