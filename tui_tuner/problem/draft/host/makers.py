"""Functions of the host that return memory that they take, or a vector that they make, in the words of their calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from tui_tuner.problem.draft.host.functions import HostFunction, function_at, lambdas_in, variable_returned
from tui_tuner.problem.draft.host.members import put_in
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import spelled
from tui_tuner.problem.syntax import list_at, split_list

TAKES = re.compile(r"\bcudaMalloc(?P<how>\w*)\s*(?:<[^<>]*>)?\s*\(")
_MOST_STEPS = 3
"""Functions that are called by each other, and names that stand for names in one."""
CAST = re.compile(r"^\(\s*(?:const\s+)?[\w\s:]+[*\s]*\)\s*(?=\S)|^(?:reinterpret|static|const)_cast\s*<[^<>]*>\s*")
_CALL = re.compile(r"(?:\w+\s*(?:::|\.|->)\s*)*(?P<by>\w+)\s*(?:<(?P<types>[^<>;]*)>)?\s*(?=\()")
_COPIED = re.compile(r"\bcudaMemcpy(?:Async)?\s*\((?P<to>[^;,]*),\s*(?P<host>[^;,]*),")


class Call(NamedTuple):
    """A call of a function of the file, and what its parameters, and those of its template, stand for.

    Attributes:
        handed: the parameter by which it hands memory back; empty where it returns that.
    """

    function: HostFunction
    meant: Mapping[str, str]
    place: int
    handed: str = ""


def allocated(call: re.Match[str]) -> tuple[str, str]:
    """What a call of `cudaMalloc`, or of another of its kind, is given for a pointer and for its bytes."""
    given = list_at(call.string, call.end() - 1)
    if call["how"] == "Pitch" and len(given) == 4:  # rows without what a device puts between them
        return given[0], f"({given[2]}) * ({given[3]})"
    return (given[0], given[1]) if len(given) > 1 else ("", "")


class HostMakers:
    """Reads what such functions, and lambdas, return."""

    def __init__(self, program: HostProgram) -> None:
        self._program = program
        self._code = program.code

    @cached_property
    def _lambdas(self) -> list[HostFunction]:
        return lambdas_in(self._code)

    @cached_property
    def _functions(self) -> dict[str, HostFunction]:
        return {one.name: one for one in reversed([*self._program.functions, *self._lambdas])}

    def around(self, place: int) -> list[HostFunction]:
        """The lambda that a place of the code is in, and the function."""
        found = (function_at(self._lambdas, place), self._program.function_at(place))
        return [one for one in found if one is not None]

    def made_at(self, made: re.Pattern[str], name: str, place: int) -> Iterator[re.Match[str]]:
        """Where a name is made, the last first: in the function of a place, before it and behind it; then anywhere.

        Where it is an argument, nowhere else.
        """
        for function in self.around(place):
            found = list(made.finditer(self._code, function.start, function.end))
            before = [one for one in found if one.start() < place]
            yield from [*reversed(before), *reversed(found[len(before) :])]
            if name in function.parameters:
                return
        yield from reversed(list(made.finditer(self._code)))

    def called(self, text: str, place: int) -> Call | None:
        """The call that text at a place is; None where it is none, or of a function that the file does not have."""
        found = _CALL.match(text)
        function = self._functions.get(found["by"]) if found else None
        if found is None or function is None:
            return None
        given = list_at(text, found.end())
        left = function.defaults[len(given) :]
        if len(given) > len(function.parameters) or not all(left):
            return None
        types = zip(self._program.templates.names_of(function), split_list(found["types"] or ""), strict=False)
        return Call(function, {**dict(zip(function.parameters, [*given, *left], strict=True)), **dict(types)}, place)

    def calls_for(self, name: str, place: int) -> Iterator[Call]:
        """The calls of functions of the file that a name is set to, or handed memory by, the last one first."""
        set_to = re.compile(rf"(?<![\w.>]){spelled(name)}\s*=(?!=)\s*(?:\([^()]*\)\s*)?(?=[A-Za-z_])")
        for found in self.made_at(set_to, name, place):
            if (call := self.called(self._statement(found.end()), found.start())) is not None:
                yield call
        for function, parameter in self._handing:
            calls = re.compile(rf"\b{function.name}\s*(?:<[^<>;]*>)?\s*\((?=[^;]*(?<![\w.>]){re.escape(name)}\s*[,)])")
            for found in self.made_at(calls, name, place):
                call = self.called(self._statement(found.start()), found.start())
                if call is not None and named(call.meant[parameter]) == name:
                    yield call._replace(handed=parameter)

    def _statement(self, place: int) -> str:
        return self._code[place : self._code.find(";", place)]

    @cached_property
    def _handing(self) -> list[tuple[HostFunction, str]]:
        """The functions that take memory for a pointer of who calls them, with the parameter that leads to that."""
        found = list[tuple[HostFunction, str]]()
        for function in self._functions.values():
            head = self._code[function.start : function.body]
            taken = [allocated(one)[0] for one in TAKES.finditer(self._code, function.body, function.end)]
            for one in function.parameters:
                is_handed = re.search(rf"\*\s*[*&]\s*{one}\b", head) if one else None
                if is_handed and any(re.search(rf"\b{one}\b", pointer) for pointer in taken):
                    found.append((function, one))
        return found

    def bytes_taken(self, call: Call, steps: int = _MOST_STEPS) -> str | None:
        """The bytes of the memory that a function takes, itself or by another, and returns or hands back."""
        function, returned = call.function, call.handed or self._returned(call.function)
        taken = [(allocated(one), one.start()) for one in TAKES.finditer(self._code, function.body, function.end)]
        taken = [(one, place) for one, place in taken if one[1]]
        own = [one for one in taken if returned and re.search(rf"\b{returned}\b", one[0][0])]
        for (_, nbytes), place in own or taken:
            return self.in_words_of(call, nbytes, place)
        for other in self._calls_in(function) if steps else ():
            if (inner := self.bytes_taken(other, steps - 1)) is not None:
                return self.in_words_of(call, inner, other.place)
        return None

    def copied(self, call: Call) -> str | None:
        """What a function copies to the memory that it takes and returns or hands back, where it is given that."""
        function = call.function
        copies = [*_COPIED.finditer(self._code, function.body, function.end)]
        own = [one for one in copies if call.handed and re.search(rf"\b{call.handed}\b", one["to"])]
        found = next(iter(own if call.handed else copies), None)
        if found is None or self.bytes_taken(call) is None:
            return None
        words = re.match(r"\W*(\w+)", found["host"])
        return call.meant.get(words[1]) if words else None

    def variable(self, call: Call) -> tuple[str, int] | None:
        """The variable that a function returns at its end, and that place."""
        by_return = variable_returned(self._code, [call.function], f"{call.function.name}(")
        return None if call.handed else by_return

    def in_words_of(self, call: Call, text: str, place: int) -> str:
        """Text in the function that is called, with what its parameters and its own names stand for."""
        for _ in range(_MOST_STEPS):
            own = dict(self._set_in(call.function, {*re.findall(r"[A-Za-z_]\w*", text)} - call.meant.keys(), place))
            if not own:
                break
            text = put_in(text, own)
        return put_in(text, call.meant)

    def _returned(self, function: HostFunction) -> str:
        last = re.search(r"\breturn\b[^;]*?(\w+)\W*;\s*$", self._code[function.body : function.end - 1])
        return last[1] if last else ""

    def _calls_in(self, function: HostFunction) -> Iterator[Call]:
        """What a function calls of the file, in its order."""
        for found in _CALL.finditer(self._code, function.body, function.end):
            if found["by"] != function.name:
                call = self.called(self._statement(found.start()), found.start())
                if call is not None:
                    yield call

    def _set_in(self, function: HostFunction, names: set[str], place: int) -> Iterator[tuple[str, str]]:
        """What a function sets names of its own to."""
        for name in names:
            meaning = self._program.meaning(name, place)
            if meaning is not None and function.body <= meaning[1] < place:
                yield name, meaning[0]


def named(pointer: str) -> str:
    """The name of the memory that is passed, without conversions and what asks a vector for it."""
    text = pointer.strip()
    while (plain := CAST.sub("", text)) != text:
        text = plain.strip()
    if (inner := re.fullmatch(r"(?:thrust\s*::\s*)?raw_pointer_cast\s*\(\s*(.*?)\s*\)|\((.*)\)", text)) is not None:
        return named(inner[1] or inner[2])
    text = re.sub(r"^&\s*", "", text)
    return re.sub(r"\s*\[.*\]$|\s*(?:\.|->)\s*\w+\s*(?:<[^<>]*>)?\s*\(\s*\)$", "", text)
