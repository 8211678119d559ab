"""The host code around a kernel as a program: what its names stand for where it launches a kernel."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter

from tui_tuner.problem.c_types import types_in
from tui_tuner.problem.conditionals import active_headers
from tui_tuner.problem.draft.arithmetic.c_expressions import (
    SIZEOF,
    UNREAD,
    NotArithmetic,
    arithmetic,
    is_called_by_name,
    without_no_casts,
)
from tui_tuner.problem.draft.arithmetic.folding import folded, whole_number
from tui_tuner.problem.draft.arithmetic.worked_out import finished, names
from tui_tuner.problem.draft.host.answers import told_of_device
from tui_tuner.problem.draft.host.functions import (
    HostFunction,
    function_at,
    functions_in,
    handed_back,
    member_filled,
    outside_of,
    returned,
    variable_returned,
)
from tui_tuner.problem.draft.host.members import HostMembers
from tui_tuner.problem.draft.host.statements import (
    CONSTANT,
    NOTHING_YET,
    assignments,
    changed,
    copied,
    first_item,
    is_limit,
    raised,
    spelled,
)
from tui_tuner.problem.draft.host.templates import HostTemplates, switched
from tui_tuner.problem.structures import enumerated
from tui_tuner.problem.syntax import DIRECTIVE, closing, constants_of, list_at, spaces, with_macros, without_bodies

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^()\n]*\))?(?P<text>(?:\\\r?\n|[^\n])*)", re.MULTILINE
)
_MOST_STEPS = 12


class HostProgram:
    """Host code without comments, which is read and never run.

    Args:
        code: the file's text, comments blanked.
        headers: texts of headers beside it, for what they define.
        text: the code with its comments and strings.

    Attributes:
        code: the text without comments and directives.
        members: what the code lists for the members of structures.
    """

    def __init__(self, code: str, headers: Sequence[str] = (), text: str = "") -> None:
        self.text = text or code
        found = [one for text in (*headers, *active_headers(headers, code), code) for one in _DEFINE.finditer(text)]
        self._macros = {one["name"]: (one["parameters"], _plain(one["text"])) for one in found}
        self._types = frozenset[str]().union(*map(types_in, (*headers, code)))
        self._enumerated = {name: number for text in (*headers, code) for name, number in enumerated(text).items()}
        constants = (one for text in headers for one in CONSTANT.finditer(without_bodies(text)))
        self._constants = {one["name"]: _plain(one["text"]) for one in constants}
        macros = (one["name"] for one in _DEFINE.finditer(code) if one["parameters"] is None)
        self.own_numbers = frozenset([*macros, *dict(constants_of(code))])
        """Macros and constants of the file, which a build may give another number."""
        self.code = DIRECTIVE.sub(lambda line: spaces(line.group()), code)
        self.switched = switched(self._macros, self.code)
        self._headers = headers
        self.members = HostMembers(self.code, headers)
        self._meanings: dict[tuple[str, int], tuple[str, int] | None] = {}

    @cached_property
    def functions(self) -> list[HostFunction]:
        """Those of the file, in its order."""
        return functions_in(self.code)

    @cached_property
    def _handed_back(self) -> dict[str, list[tuple[int, str, int]]]:
        return handed_back(self.code, self.functions)

    @cached_property
    def templates(self) -> HostTemplates:
        """What the file's templates are given."""
        code = "\n".join([self.code, *(text for text, _ in self.uses_of_macros("template "))])
        switched = {name: text for name, text in self.switched.items() if text in self._enumerated}
        return HostTemplates(code, self.functions, self.number, switched)

    def function_at(self, place: int) -> HostFunction | None:
        """The function that a place of the code is in."""
        return function_at(self.functions, place)

    def begin_of(self, place: int) -> int:
        """Where the body of the function begins that a place is in; 0 outside of all."""
        function = self.function_at(place)
        return 0 if function is None else function.body

    def meaning(self, name: str, place: int) -> tuple[str, int] | None:
        """What a name was last set to before a place, as text, with the place where that text stands."""
        if (name, place) not in self._meanings:
            self._meanings[name, place] = self._looked_for(name, place)
        return self._meanings[name, place]

    def _looked_for(self, name: str, place: int) -> tuple[str, int] | None:
        function = self.function_at(place)
        if name in self.switched:
            return self.switched[name], place
        if re.fullmatch(r"\w+(?:\[\w+\])?(?:(?:\.|->)\w+)+", name):
            return self._member(name, place)
        if "::" in name:
            return self.templates.constant(name, place) or self._set_outside(name.rpartition("::")[2])
        if function is not None:
            own = self._set_between(name, function.body, place)
            told = told_of_device(self.code, name, function.body, function.end)
            last = max(filter(None, (own, told)), key=itemgetter(1), default=None)
            start = function.body if last is None else last[1]
            by_function = self.handed_back(name, start, place)
            if by_function or last:  # what it is declared with counts until CUDA, or a function, has told more
                return by_function or last
            if name in function.parameters:
                return self._passed(function, function.parameters.index(name))
        if name in self._macros:
            parameters, text = self._macros[name]
            return None if parameters or not text else (text, place)
        if name in self._enumerated:
            return self._enumerated[name], place
        set_here = self.templates.given(name, place) or self._set_outside(name)
        return set_here or ((self._constants[name], place) if name in self._constants else None)

    def handed_back(self, name: str, start: int, end: int) -> tuple[str, int] | None:
        """The parameter by which a function that is called between two places writes a name, and where it ends."""
        return next(((text, at) for where, text, at in self._handed_back.get(name, ()) if start <= where < end), None)

    def followed(self, text: str, place: int) -> tuple[str, int]:
        """What text stands for in the end, where it is a name, and where that stands; else the text itself."""
        for _ in range(_MOST_STEPS):
            if not text.isidentifier() or (meaning := self.meaning(text, place)) is None:
                break
            text, place = meaning
        return text, place

    def _member(self, name: str, place: int) -> tuple[str, int] | None:
        """What a member of a variable was set to, by itself or in the braces that it, or what it is in, was made of."""
        variable, *path = re.split(r"\.|->", name)
        for _ in range(_MOST_STEPS):
            function = self.function_at(place)
            start = 0 if function is None else function.body
            own = self._set_between(".".join((variable, *path)), start, place)
            told = told_of_device(self.code, ".".join((variable, *path)), start, place)
            default = self.members.default(variable, path, start, place)
            if own is not None and default is not None and not self.is_arithmetic(own[0]):
                return default, place
            if own is not None or told is not None:
                return own or told
            if (filled := member_filled(self.code, self.functions, variable, path, start, place)) is not None:
                return filled
            for found in self._of_whole(variable, path, start, place):
                return found
            whole = self._set_between(variable, start, place)
            if whole is not None and (at := variable_returned(self.code, self.functions, whole[0])) is not None:
                variable, place = at
                continue
            bare, bracket, index = variable.partition("[")
            if function is None or bare not in function.parameters:
                return self._outside.declared(variable, path) if default is None else (default, place)
            passed = self._passed(function, function.parameters.index(bare))
            if passed is not None and (held := self.members.in_place(passed[0], path)) is not None:
                return held, passed[1]
            if passed is None or not re.fullmatch(r"&?\s*\w+(?:\[\w+\])?", passed[0]):
                return None
            variable, place = passed[0].lstrip("& ") + bracket + index, passed[1]
        return None

    def _of_whole(self, variable: str, path: Sequence[str], start: int, place: int) -> Iterator[tuple[str, int] | None]:
        """What a member of a variable is by what that, or what it is in, was made of; None where that leaves it out."""
        for depth in reversed(range(len(path))):
            made = self.members.made_of(variable, path[:depth], start, place)
            if made is not None:
                kind, values, where = made
                picked = self.members.picked(kind, values, path[depth:])
                yield None if picked is None else (picked, where)
            name = ".".join((variable, *path[:depth]))
            whole = self._set_between(name, start, place) or copied(self.code, name, start, place)
            if whole is not None and (other := whole[0].lstrip("* ")).isidentifier():  # a copy of another structure
                yield ".".join((other, *path[depth:])), whole[1]
            at = None if whole is None else variable_returned(self.code, self.functions, whole[0])
            own = ".".join((at[0], *path[depth:])) if at else ""
            if at and re.compile(rf"&\s*{spelled(own)}\b").search(self.code, self.begin_of(at[1]), at[1]):
                yield own, at[1]  # memory that is taken for it there

    @cached_property
    def _outside(self) -> HostMembers:
        return HostMembers(outside_of(self.code, self.functions), self._headers)

    def is_local(self, name: str, place: int) -> bool:
        """Whether a name is a function's own, so that a kernel of the same name has another."""
        function = self.function_at(place)
        return function is not None and (
            name in function.parameters or self._set_between(name, function.body, place) is not None
        )

    def is_of_host(self, name: str, place: int) -> bool:
        """Whether a name is a function's own or a variable outside of them, which no kernel reads."""
        outside = None if name in self._macros or name in self._enumerated else self._set_outside(name)
        at = self._outside.place_of(name) if outside is None else outside[1]
        if self.is_local(name, place) or at is None:
            return self.is_local(name, place)
        head = self.code[max(self.code.rfind(mark, 0, at) for mark in ";{}") + 1 : at]
        return not re.search(r"\bconst(?:expr)?\b|__\w+__", head)

    def _set_between(self, name: str, start: int, end: int) -> tuple[str, int] | None:
        found = [
            one
            for one in assignments(name).finditer(self.code, start, end)
            if not re.match(r"\s*[{[]", one["text"]) and not is_limit(self.code, name, one)
        ]
        if found and (count := raised(self.code, name, found[-1].end(), end)) is not None:
            return count, found[-1].start()
        for one in reversed(found):  # what comes from outside, as by atoi(), is said only where no number is
            text = first_item(one["text"])
            if self.is_arithmetic(text) and (one is found[-1] or not NOTHING_YET.fullmatch(text)):
                become = changed(self.code, name, text, one.end(), end) if self.is_plain(text) else None
                return become or (text, one.start())
            if re.search(rf"\b{re.escape(name)}\b", text):
                return text, one.start()
        return (first_item(found[-1]["text"]), found[-1].start()) if found else None

    def is_arithmetic(self, text: str) -> bool:
        """Whether text can be read as arithmetic at all."""
        try:
            arithmetic(self.expanded(text))
        except NotArithmetic:
            return False
        return True

    def is_plain(self, text: str) -> bool:
        """Whether text is a number, or nothing that can be read."""
        try:
            return not names(arithmetic(self.expanded(text)))
        except NotArithmetic:
            return True

    def _set_outside(self, name: str) -> tuple[str, int] | None:
        for one in assignments(name).finditer(self.code):
            if self.function_at(one.start()) is None:
                return first_item(one["text"]), one.start()
        return None

    def _passed(self, function: HostFunction, position: int) -> tuple[str, int] | None:
        """What the last call of a function gives one of its parameters."""
        call = re.compile(rf"\b{re.escape(function.name)}\s*(?:<[^<>;]*>)?\s*\(")
        for found in reversed(list(call.finditer(self.code))):
            around = self.function_at(found.start())
            if around is None or around == function or found.start() == around.start:  # as of a second one
                continue
            given = list_at(self.code, found.end() - 1)
            left = function.defaults[len(given) :]
            if len(given) <= len(function.parameters) and all(left):
                return [*given, *left][position], found.start()
        return None

    def expanded(self, text: str) -> str:
        """Text with the macros that take arguments, and functions that are one expression of theirs, put in."""
        return without_no_casts(with_macros(text, self._called), self._types)

    def without_macros(self, text: str) -> str:
        """Text with the macros that take arguments put in."""
        return with_macros(text, self._macros)

    def uses_of_macros(self, mark: str) -> Iterator[tuple[str, int]]:
        """The uses of macros with arguments that come to text with a mark in it: that text, and where each stands.

        Those of one macro follow those of another as these are defined: of launches that are alike, the first is taken.
        """
        marked = {name for name, (_, text) in self._macros.items() if mark in text}
        for name in [one for one, (_, text) in self._macros.items() if marked & {one, *re.findall(r"\w+", text)}]:
            for found in re.finditer(rf"\b{name}\s*\(", self.code):
                yield self.expanded(self.code[found.start() : closing(self.code, found.end() - 1)]), found.start()

    @cached_property
    def _called(self) -> dict[str, tuple[str | None, str]]:
        """What may be called by name: macros that take arguments, and functions that are one expression of theirs."""
        found = {name: one for name, one in self._macros.items() if one[0]}
        for one in self.functions:
            text = returned(self.code, one) if one.parameters and not is_called_by_name(one.name) else None
            if text is not None:
                each = zip(one.parameters, one.defaults, strict=True)
                named = (f"{name}={default}" if default and "," not in default else name for name, default in each)
                found.setdefault(one.name, (f"({', '.join(named)})", f"({_plain(text)})"))
        return found

    def resolved(self, text: str | ast.expr, place: int, known: Callable[[str, int], ast.expr | None]) -> ast.expr:
        """Text, or what was read of it, as arithmetic, names replaced by what `known` says of each where it stands.

        Raises:
            NotArithmetic: it is none, or a name in it stands for nothing that is known.
        """
        node = arithmetic(self.expanded(text)) if isinstance(text, str) else text
        type_given = self.templates.type_given

        class Names(ast.NodeTransformer):
            def visit_Call(self, node: ast.Call) -> ast.expr:
                node.args = [self.visit(one) for one in node.args]
                return node

            def visit_Name(self, node: ast.Name) -> ast.expr:
                if node.id == UNREAD:
                    return node
                if node.id.startswith(SIZEOF):
                    return ast.Name(SIZEOF + type_given(node.id.removeprefix(SIZEOF), place))
                found = known(node.id, place)
                if found is not None:
                    return found
                raise NotArithmetic(node.id)

        return folded(Names().visit(node))

    def worked_out(self, text: str | ast.expr, place: int) -> ast.expr | None:
        """What text at a place comes to, every name in it known; None where that cannot be told."""

        def known(name: str, where: int) -> ast.expr | None:
            meaning = self.meaning(name, where)
            return None if meaning is None else self.resolved(*meaning, known)

        try:
            return finished(self.resolved(text, place, known))
        except (NotArithmetic, RecursionError):
            return None

    def number(self, text: str | ast.expr, place: int) -> int | None:
        """The whole number that it comes to; None where that cannot be told."""
        node = self.worked_out(text, place)
        return None if node is None else whole_number(node)


def _plain(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").replace("\\\r\n", " ").split())
