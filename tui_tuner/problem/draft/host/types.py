"""What a compiler knows of the host's types: of what a launch passes to a template, and the bytes of structures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tui_tuner.problem.by_value import fields_of, structure_bytes
from tui_tuner.problem.c_types import dtype_of, type_aliases
from tui_tuner.problem.draft.arithmetic.c_expressions import SIZEOF
from tui_tuner.problem.draft.arithmetic.worked_out import names, with_numbers
from tui_tuner.problem.draft.host.functions import function_at, functions_in
from tui_tuner.problem.draft.host.launches import HostLaunch
from tui_tuner.problem.draft.host.makers import named
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.signature import KernelSignature, find_kernel
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import name_in, split_list

_MOST_STEPS = 6
_MOST_CALLERS = 3
"""Templates that are called by each other, each with what another leaves open."""
_TYPE = r"(?:(?:unsigned|signed|long|short)\s+)*[A-Za-z_][\w:]*(?:\s*<[^<>;(){}]*>)?"
_NUMBERS = ((r"[-+]?\d+", "int"), (r"[-+]?[\d.]+(?:e[-+]?\d+)?f", "float"), (r"[-+]?[\d.]+(?:e[-+]?\d+)?", "double"))
_OF_TENSOR = re.compile(r"\.\s*(?:(?:mutable|const)_)?data(?:_ptr)?\s*<\s*(\w+)\s*>\s*\(\s*\)")
"""The address of a tensor's elements, with their type."""


def deduced(program: HostProgram, signature: KernelSignature, launch: HostLaunch, after: int) -> list[str]:
    """The types for a kernel's template parameters after so many, up to the first that its arguments do not say."""
    found: list[str] = []
    if not signature.template[after:]:
        return found
    passed = dict(zip((one.name for one in signature.parameters), launch.arguments, strict=False))
    open_ones = find_kernel(program.text, "cuda", signature.name).parameters
    given = [(passed[one.name], one) for one in open_ones if one.name in passed]
    for text in signature.template[after:]:
        name = name_in(text)
        types = [
            _type_of(program, argument, launch.place, parameter.pointer)
            for argument, parameter in given
            if re.findall(r"\w+", re.sub(r"\b(?:const|__restrict\w*)\b", "", parameter.type_text)) == [name]
        ]
        types += [
            _argument_of(program, argument, launch.place)
            for argument, parameter in given
            if re.fullmatch(rf"(?:const\s+)?[\w:]+\s*<\s*{name}\s*>", parameter.type_text)
        ]
        kind = next((one for one in types if one), "")
        if not kind:
            break
        found.append(kind)
    return found


def _argument_of(program: HostProgram, text: str, place: int) -> str:
    """The argument of the class template that what is passed is converted to, or declared as; empty for no such."""
    if converted := re.match(r"\(\s*[\w:]+\s*<\s*([\w ]+?)\s*>\s*\)", text):
        return converted[1]
    function = program.function_at(place)
    declared = re.compile(rf"\b[\w:]+\s*<\s*([\w ]+?)\s*>\s*&?\s*(?:\w+\s*,\s*)*{re.escape(text)}\s*[;,)=({{]")
    found = list(declared.finditer(program.code, function.start, place)) if function and text.isidentifier() else []
    return found[-1][1] if found else ""


def _type_of(program: HostProgram, text: str, place: int, pointed: bool, callers: int = _MOST_CALLERS) -> str:
    """The type of what stands at a place, or of what it points to; empty where it cannot be told."""
    if pointed and (asked := _OF_TENSOR.search(text)) is not None:
        return asked[1]
    for _ in range(_MOST_STEPS):
        made = re.fullmatch(rf"({_TYPE})\s*(?:\{{.*\}}|\(.*\))", text.strip(), re.DOTALL)
        if made is not None and not pointed and _is_made(program, made[1]):
            return _plain(made[1])
        number = next((kind for mark, kind in _NUMBERS if re.fullmatch(mark, text.strip())), "")
        name = named(text) if pointed else text.strip()
        if number or not name.isidentifier():
            return number
        kinds = [*_declared(program, name, place, pointed)]
        kind = next((one for one in kinds if _is_type(program, one)), "")
        function, meaning = program.function_at(place), program.meaning(name, place)
        if kind or function is None or name not in function.parameters or meaning is None:
            return kind or next((found for one in kinds if (found := open_type(program, one, place, callers))), "")
        text, place = meaning  # of a type that the function's own template leaves open
    return ""


def open_type(program: HostProgram, name: str, place: int, callers: int = _MOST_CALLERS) -> str:
    """The type of a function template's parameter that callers name, or say by what they pass; else empty."""
    function = program.function_at(place)
    if function is None or name not in program.templates.names_of(function) or not callers:
        return ""
    if (given := program.templates.given(name, place)) is not None:
        return _plain(given[0]) if _is_type(program, given[0]) else open_type(program, *given, callers - 1)
    head = program.code[function.start : function.body - 1].partition("(")[2].rpartition(")")[0]
    for parameter, text in zip(function.parameters, split_list(head), strict=False):
        meaning = program.meaning(parameter, place) if re.search(rf"<\s*{name}\s*>|\b{name}\s*\*", text) else None
        if meaning is not None and (found := _type_of(program, *meaning, True, callers - 1)):
            return found
    return ""


def _is_made(program: HostProgram, name: str) -> bool:
    """Whether `name(...)` makes an object, by a constructor or in braces, and is no function's call."""
    known = name.partition("<")[0].rpartition("::")[2].strip() in structures(program.code)
    return known or not any(one.name == name for one in program.functions)


def _declared(program: HostProgram, name: str, place: int, pointed: bool) -> Iterator[str]:
    """What stands for a type before a name, the last one before a place first, those of its function before others."""
    star = r"\s*\*\s*(?:const\s+|__restrict\w*\s+)*" if pointed else r"\s+"
    more = r"(?:\w+\s*(?:=[^,;()]*)?,\s*\*\s*)*" if pointed else r"(?:\w+\s*(?:=[^,;()]*)?,\s*)*"
    plain = re.compile(rf"(?<![\w.>])({_TYPE}){star}{more}{re.escape(name)}\s*[=;,)({{\[]")
    holder = re.compile(
        rf"\b\w+\s*<\s*({_TYPE})\s*>\s*&?\s*(?:\w+\s*(?:\([^()]*\)|=[^,;]*)?\s*,\s*)*{re.escape(name)}\b"
    )
    function = program.function_at(place)
    start = 0 if function is None else function.start
    for begins, ends in ((start, place), (0, start)):
        for pattern in (plain, holder) if pointed else (plain,):
            for found in reversed(list(pattern.finditer(program.code, begins, ends))):
                yield _plain(found[1])


def _is_type(program: HostProgram, kind: str) -> bool:
    known = dtype_of(kind, "cuda", type_aliases(program.code))[0] is not None
    return known or kind.partition("<")[0] in structures(program.code)


def _plain(kind: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\s*([<>,:])\s*", r"\1", kind.strip()))


_BYTES_ASKED = re.compile(
    r"\bsizeof\s*(?:\(\s*(?:\w+\s*(?:\.|->)\s*)*(?P<name>[A-Za-z_]\w*)\s*(?P<first>\[\s*0\s*\])?\s*\)"
    r"|\s(?P<bare>[A-Za-z_]\w*)\b(?!\s*\())"
)
_NO_TYPE = r"(?!(?:return|else|case|goto|new|delete|do)\b)"


_MULTIPLIED = re.compile(
    r"\b(?P<all>\w+)\s*=\s*1\s*;\s*for\s*\(\s*\w+\s+(?P<axis>\w+)\s*=\s*0\s*;\s*(?P=axis)\s*<\s*\w+(?:\.(?:dim|ndimension)"
    r"\(\))?\s*;\s*(?:\+\+\s*(?P=axis)|(?P=axis)\s*\+\+)\s*\)\s*(?P<brace>\{)?\s*"
    r"(?P=all)\s*\*=\s*(?P<tensor>\w+)\.size\(\s*(?P=axis)\s*\)\s*;(?(brace)\s*\})"
)
"""As `int n = 1; for (int i = 0; i < x.dim(); i++) n *= x.size(i);`."""


def with_products_of_extents(code: str) -> str:
    """Code in which such a loop is the product of the extents that the function names, or `x.numel()`."""
    functions = functions_in(code) if _MULTIPLIED.search(code) else []

    def said(found: re.Match[str]) -> str:
        function = function_at(functions, found.start())
        text = code[function.start : function.end] if function else ""
        asked = {int(one) for one in re.findall(rf"\b{found['tensor']}\.size\(\s*(\d)\s*\)", text)}
        is_whole = asked and sorted(asked) == [*range(len(asked))]
        extents = [f"{found['tensor']}.size({at})" for at in sorted(asked)] if is_whole else []
        product = " * ".join(extents) or f"{found['tensor']}.numel()"
        return f"{found['all']} = {product};" + "\n" * found[0].count("\n")

    return _MULTIPLIED.sub(said, code)


def with_bytes_of_arrays(code: str) -> str:
    """Code in which `sizeof` of an array, a variable or a member of a structure, is that of its elements, in words."""
    indexed = {*re.findall(r"\b(\w+)\s*\[", code)}

    def spelled(found: re.Match[str]) -> str:
        name = found["name"] or found["bare"]
        arrays = list(_arrays(name).finditer(code, 0, found.start())) if name in indexed else []
        if not arrays:
            return found[0]
        element = f"sizeof({arrays[-1]['type']})"
        extents = re.findall(r"\[([^\][]+)\]", arrays[-1]["extents"])
        return element if found["first"] else f"({' * '.join(f'({one})' for one in extents)} * {element})"

    return _BYTES_ASKED.sub(spelled, code)


def _arrays(name: str) -> re.Pattern[str]:
    """Declarations of arrays of a name."""
    return re.compile(
        rf"\b{_NO_TYPE}(?P<type>(?:(?:un)?signed\s+)?[A-Za-z_]\w*)\s+(?:\w+\s*(?:\[[^\][]+\]\s*)*,\s*)*{name}\s*"
        r"(?P<extents>(?:\[[^\][]+\]\s*)+)[;,={]"
    )


def with_type_bytes(node: ast.expr, code: str) -> ast.expr:
    """Arithmetic with the bytes of the structures of code, and of what its names for types stand for, as numbers."""
    asked = [name for name in names(node) if name.startswith(SIZEOF)]
    aliases = type_aliases(code) if asked else {}
    found: dict[str, int] = {}
    for name in asked:
        kind = name.removeprefix(SIZEOF)
        fields = fields_of(kind, code, "cuda")
        dtype, width = dtype_of(kind, "cuda", aliases)
        if isinstance(fields, tuple):
            found[name] = structure_bytes(fields)
        elif dtype is not None:
            found[name] = width * dtype_named(dtype).itemsize
    return with_numbers(node, found)
