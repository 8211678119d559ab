"""The host code around a kernel as a program: what its names stand for where it launches a kernel."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from tui_tuner.problem.c_types import dtype_of
from tui_tuner.problem.draft.c_expressions import SIZEOF, NotArithmetic, arithmetic, folded
from tui_tuner.problem.syntax import closing, constant_of, spaces, split_list, with_macro

_FUNCTION = re.compile(r"\b(?P<name>\w+)\s*\((?P<parameters>[^(){};]*)\)\s*(?:const\s*)?\{")
_CONTROL = frozenset({"if", "for", "while", "switch", "catch", "return", "sizeof"})
_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^()\n]*\))?(?P<text>(?:\\\r?\n|[^\n])*)", re.MULTILINE
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_SHIFTED = re.compile(r"(<<|>>)\s*([A-Za-z_]\w*)")
_MOST_STEPS = 12
_OF_DEVICES = {
    "maxThreadsPerBlock": 1024,
    "warpSize": 32,
    "maxGridSize[0]": 2**31 - 1,
    "maxGridSize[1]": 65535,
    "maxGridSize[2]": 65535,
}
OPEN_TYPE = "float"
"""What a type is taken for that a template leaves open."""


@dataclass(frozen=True)
class HostFunction:
    """A function's place in the code; `parameters` are their names in order, `defaults` what stands for each."""

    name: str
    parameters: tuple[str, ...]
    defaults: tuple[str, ...]
    start: int
    body: int
    end: int


class HostProgram:
    """Host code without comments, which is read and never run.

    Args:
        code: the file's text, comments blanked.
        headers: texts of headers beside it, for what they define.
        text: the code with its comments and strings.

    Attributes:
        code: the text without comments and directives.
    """

    def __init__(self, code: str, headers: Sequence[str] = (), text: str = "") -> None:
        self.text = text or code
        self._headers = headers
        found = [one for text in (*headers, code) for one in _DEFINE.finditer(text)]
        self._macros = {one["name"]: (one["parameters"], _plain(one["text"])) for one in found}
        macros = (one["name"] for one in _DEFINE.finditer(code) if one["parameters"] is None)
        constants = (one[1] for one in constant_of(r"(\w+)").finditer(code))
        self.own_numbers = frozenset([*macros, *constants])
        """Macros and constants of the file, which a build may give another number."""
        self.code = _DIRECTIVE.sub(lambda line: spaces(line.group()), code)

    @cached_property
    def functions(self) -> list[HostFunction]:
        """Those of the file, in its order."""
        found: list[HostFunction] = []
        for one in _FUNCTION.finditer(self.code):
            if one["name"] not in _CONTROL and (not found or one.start() >= found[-1].end):
                parts = split_list(one["parameters"])
                names, defaults = tuple(map(_declared, parts)), tuple(part.partition("=")[2].strip() for part in parts)
                end = closing(self.code, one.end() - 1, "{}")
                found.append(HostFunction(one["name"], names, defaults, one.start(), one.end(), end))
        return found

    def function_at(self, place: int) -> HostFunction | None:
        """The function that a place of the code is in."""
        return next((one for one in self.functions if one.start <= place < one.end), None)

    def meaning(self, name: str, place: int) -> tuple[str, int] | None:
        """What a name was last set to before a place, as text, with the place where that text stands."""
        function = self.function_at(place)
        if re.fullmatch(r"\w+(?:\.|->)\w+", name):
            return self._member(name, place)
        if function is not None:
            own = self._set_between(name, function.body, place) or self._pitch(name, function)
            if own is not None:
                return own
            if name in function.parameters:
                return self._passed(function, function.parameters.index(name))
        if name in self._macros:
            parameters, text = self._macros[name]
            return None if parameters or not text else (text, place)
        return self._set_outside(name)

    def _pitch(self, name: str, function: HostFunction) -> tuple[str, int] | None:
        """The bytes of a row that `cudaMallocPitch` was asked for, which is the least that it answers."""
        made = re.compile(rf"\bcudaMallocPitch\s*\([^;]*?,\s*&\s*{re.escape(name)}\s*,([^,;]*),")
        found = made.search(self.code, function.body, function.end)
        return None if found is None else (found[1].strip(), found.start())

    def _member(self, name: str, place: int) -> tuple[str, int] | None:
        """What a member of a variable was set to, by itself or in the braces of the variable's declaration."""
        variable, member = re.split(r"\.|->", name)
        for _ in range(_MOST_STEPS):
            function = self.function_at(place)
            start = 0 if function is None else function.body
            own = self._set_between(f"{variable}.{member}", start, place)
            braces = re.compile(rf"\b(?P<type>\w+)\s+{re.escape(variable)}\s*=?\s*\{{(?P<values>[^{{}};]*)\}}\s*;")
            made = list(braces.finditer(self.code, start, place))
            if own is not None:
                return own
            if made:
                names = self._members(made[-1]["type"])
                values = split_list(made[-1]["values"])
                position = names.index(member) if member in names else len(values)
                return (values[position], made[-1].start()) if position < len(values) else None
            if function is None or variable not in function.parameters:
                return None
            passed = self._passed(function, function.parameters.index(variable))
            if passed is None or not re.fullmatch(r"&?\s*\w+", passed[0]):
                return None
            variable, place = passed[0].lstrip("& "), passed[1]
        return None

    def _members(self, structure: str) -> list[str]:
        """The names of a structure's members, in order."""
        plain = re.escape(structure)
        body = rf"\bstruct\s+{plain}\s*\{{([^{{}}()]*)\}}|\bstruct\b[\w\s]*\{{([^{{}}()]*)\}}\s*{plain}\s*;"
        found = next((one for code in (self.code, *self._headers) if (one := re.search(body, code))), None)
        lines = [] if found is None else (found[1] or found[2] or "").split(";")
        return [_declared(one) for line in lines if line.strip() for one in line.split(",")]

    def template_argument(self, text: str, place: int) -> str:
        """A type, or a number as the host has it; of a type that the host's own template leaves open a guess.

        Empty for what is neither.
        """
        plain = re.sub(r"^(un)?signed(?=\w)", r"\g<0> ", text)
        if text in ("true", "false") or dtype_of(plain, "cuda", {})[0] is not None:
            return plain
        is_open = re.search(rf"\b(?:typename|class)\s+{re.escape(text)}\s*[,>]", self.code)
        number = self.number(text, place)
        given = self._template_given(text, place)
        if given is not None:
            return self.template_argument(*given) or (OPEN_TYPE if is_open else "")
        return str(number) if number is not None else OPEN_TYPE if is_open else ""

    def _template_given(self, name: str, place: int) -> tuple[str, int] | None:
        """What the last call of a function template gives one of its parameters by name."""
        function = self.function_at(place)
        head = "" if function is None else self.code[: function.start]
        listed = re.search(r"\btemplate\s*<([^<>{}]*)>[^;{}<>]*$", head)
        if function is None or listed is None:
            return None
        names = [_declared(one) for one in split_list(listed[1])]
        calls = list(re.finditer(rf"\b{re.escape(function.name)}\s*<([^<>;]*)>\s*\(", self.code))
        given = split_list(calls[-1][1]) if calls and name in names else []
        position = names.index(name) if name in names else 0
        return (given[position], calls[-1].start()) if position < len(given) else None

    def is_local(self, name: str, place: int) -> bool:
        """Whether a name is a function's own, so that a kernel of the same name has another."""
        function = self.function_at(place)
        return function is not None and (
            name in function.parameters or self._set_between(name, function.body, place) is not None
        )

    def is_of_host(self, name: str, place: int) -> bool:
        """Whether a name is a function's own or a variable outside of them, which no kernel reads."""
        outside = None if name in self._macros else self._set_outside(name)
        if self.is_local(name, place) or outside is None:
            return self.is_local(name, place)
        head = self.code[max(self.code.rfind(mark, 0, outside[1]) for mark in ";{}") + 1 : outside[1]]
        return not re.search(r"\bconst(?:expr)?\b|__\w+__", head)

    def _set_between(self, name: str, start: int, end: int) -> tuple[str, int] | None:
        found = [
            one for one in _assignments(name).finditer(self.code, start, end) if not re.match(r"\s*[{[]", one["text"])
        ]
        for one in reversed(found):  # what comes from outside, as by atoi(), is said only where nothing else is
            with suppress(NotArithmetic):
                arithmetic(self.expanded(_first_item(one["text"])))
                return _first_item(one["text"]), one.start()
        return (_first_item(found[-1]["text"]), found[-1].start()) if found else None

    def _set_outside(self, name: str) -> tuple[str, int] | None:
        for one in _assignments(name).finditer(self.code):
            if self.function_at(one.start()) is None:
                return _first_item(one["text"]), one.start()
        return None

    def _passed(self, function: HostFunction, position: int) -> tuple[str, int] | None:
        """What the last call of a function gives one of its parameters."""
        call = re.compile(rf"\b{re.escape(function.name)}\s*(?:<[^<>;]*>)?\s*\(")
        for found in reversed(list(call.finditer(self.code))):
            if function.start <= found.start() < function.end or self.function_at(found.start()) is None:
                continue
            given = split_list(self.code[found.end() : closing(self.code, found.end() - 1, "()") - 1])
            left = function.defaults[len(given) :]
            if len(given) <= len(function.parameters) and all(left):
                return [*given, *left][position], found.start()
        return None

    def expanded(self, text: str) -> str:
        """Text with the macros that take arguments put in, and those that are numbers where something is shifted."""
        text = _SHIFTED.sub(lambda by: by[1] + self._macros.get(by[2], (None, by[2]))[1], text)
        for _ in range(3):
            for name, (parameters, body) in self._macros.items():
                if parameters and re.search(rf"\b{name}\s*\(", text):
                    text = with_macro(text, name, parameters, body)
        return text

    def resolved(self, text: str, place: int, known: Callable[[str, int], ast.expr | None]) -> ast.expr:
        """Text as arithmetic, its names replaced by what `known` says of each where it stands.

        Raises:
            NotArithmetic: it is none, or a name in it stands for nothing that is known.
        """
        return self._resolved(text, place, known, 0)

    def _resolved(self, text: str, place: int, known: Callable[[str, int], ast.expr | None], steps: int) -> ast.expr:
        if steps > _MOST_STEPS:
            raise NotArithmetic(text)
        node = arithmetic(self.expanded(text))

        class Names(ast.NodeTransformer):
            def visit_Call(self, node: ast.Call) -> ast.expr:
                node.args = [self.visit(one) for one in node.args]
                return node

            def visit_Name(self, node: ast.Name) -> ast.expr:
                if node.id.startswith(SIZEOF):
                    return node
                found = known(node.id, place)
                if found is not None:
                    return found
                raise NotArithmetic(node.id)

        return folded(Names().visit(node))

    def number(self, text: str, place: int) -> int | None:
        """The whole number that text at a place comes to; None where that cannot be told."""

        def known(name: str, where: int) -> ast.expr | None:
            meaning = self.meaning(name, where)
            return None if meaning is None else self.resolved(*meaning, known)

        try:
            node = self.resolved(text, place, known)
        except (NotArithmetic, RecursionError):
            return None
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None

    def axes(self, text: str, place: int) -> tuple[list[str], int]:
        """What a `dim3` or a number says of each axis, and where that stands."""
        for _ in range(_MOST_STEPS):
            direct = re.fullmatch(r"dim3\s*[({](.*)[)}]", text.strip(), re.DOTALL)
            if direct:
                return split_list(direct[1]), place
            if not re.fullmatch(r"\w+", text.strip()):
                break
            made = self._dim3(text.strip(), place)
            if made is not None:
                return made
            meaning = self.meaning(text.strip(), place)
            if meaning is None or not re.match(r"dim3\b|\w+\s*$", meaning[0]) or meaning[0].strip().isdecimal():
                break
            text, place = meaning
        return [text.strip()], place

    def _dim3(self, name: str, place: int) -> tuple[list[str], int] | None:
        """The parentheses behind a name that is declared as a `dim3`."""
        function = self.function_at(place)
        start = 0 if function is None else function.body
        made = re.compile(rf"\bdim3\b[^;]*?\b{name}\s*(?:=\s*(?:dim3)?\s*)?[({{]")
        bare = re.compile(rf"\bdim3\s+(?:\w+\s*,\s*)*{name}\s*[,;]")
        found = list(made.finditer(self.code, start, place)) or list(bare.finditer(self.code, start, place))
        if not found:
            return None
        opening = there = found[-1].end() - 1
        inside = self.code[opening + 1 : closing(self.code, opening, "(){}") - 1]
        axes = split_list(inside) if self.code[opening] in "({" else ["1"]
        for one in re.compile(rf"\b{name}\s*\.\s*([xyz])\s*=(?!=)([^;]*);").finditer(self.code, opening, place):
            axes += ["1"] * ("xyz".index(one[1]) + 1 - len(axes))
            axes["xyz".index(one[1])], there = one[2].strip(), one.start()
        return axes, there


def limit_of_devices(name: str) -> int | None:
    """What `cudaGetDeviceProperties` tells of every device in this member, if it does."""
    return _OF_DEVICES.get(name.rpartition(".")[2])


def _assignments(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.>]){re.escape(name)}\s*=(?!=)(?P<text>[^;]*);")


def _first_item(text: str) -> str:
    """What an assignment sets, without the declarators behind it."""
    return next(iter(split_list(text)), "")


def _plain(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").replace("\\\r\n", " ").split())


def _declared(parameter: str) -> str:
    words = re.findall(r"\w+", parameter.partition("=")[0].partition("[")[0])
    return words[-1] if words else ""
