"""The functions of host code: where they stand, which lead to a place, what those return that are one expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tui_tuner.problem.draft.host.members import put_in
from tui_tuner.problem.draft.host.statements import raised, spelled
from tui_tuner.problem.syntax import DIRECTIVE, closing, list_at, name_in, spaces, split_list

_FUNCTION = re.compile(
    r"\b(?P<name>\w+)\s*\((?P<parameters>[^(){};]*(?:\([^(){};]*\)[^(){};]*)*)\)\s*(?:(?:const|noexcept|override|try)\b\s*)*"
    r"(?:->[\w\s:<>,*&]{1,120})?"
    r"(?::(?!:)[^;{}]{0,400}\)\s*)?\{"  # what a constructor sets members to
)
_COMMAND_LINE = re.compile(r"\bchar\s*(?:const\s*)?\*\s*(?:const\s*)?(?:\*|\w+\s*\[\s*\])")
_NUMBER = re.compile(r"(?:(?:unsigned|signed|long|short|int|size_t|dim3|u?int\d+_t|uint|float|double)\s*)+[&*]\s*\w+")
"""A parameter by which a function hands a number back."""
_IN_MACRO = re.compile(r"[\w\s:<>]*\s[*&]*\w+\s*\(\s*(\w+)\s*(?:,[^()]*)?\)\s*")
"""A parameter that a macro declares, as in `float ROWS(a, n)`: the macro's first argument is its name."""
_OWN = re.compile(
    r"\s*(?:(?:const\s+)?(?:unsigned\s+)?\w+\s+(?P<name>\w+)\s*=(?!=)(?P<text>[^;{}]*)"
    r"|(?:struct\s+)?(?:cuda|hip)DeviceProp(?:_t)?\s+\w+|(?:\w+\s*\(\s*)?(?:cuda|hip)GetDevice(?:Properties)?\s*\([^;]*);"
)
"""A variable of a function's own with what it is set to; or a question for the device's properties, which set none."""
_LAMBDA = re.compile(
    r"\b(?P<name>\w+)\s*=\s*\[[^][;]*\]\s*\((?P<parameters>[^;{}]*?)\)\s*(?:mutable\s*)?(?:->[^;{}]*)?\{"
)
_CONTROL = frozenset({"if", "for", "while", "switch", "catch", "return", "sizeof"})


@dataclass(frozen=True)
class HostFunction:
    """A function's place in the code; `parameters` are their names in order, `defaults` what stands for each."""

    name: str
    parameters: tuple[str, ...]
    defaults: tuple[str, ...]
    start: int
    body: int
    end: int


def functions_in(code: str) -> list[HostFunction]:
    """Those of the code, in its order."""
    found: list[HostFunction] = []
    for one in _FUNCTION.finditer(code):
        if one["name"] not in _CONTROL and (not found or one.start() >= found[-1].end):
            parts = split_list(one["parameters"])
            names, defaults = tuple(map(_name_of, parts)), tuple(part.partition("=")[2].strip() for part in parts)
            end = closing(code, one.end() - 1)
            found.append(HostFunction(one["name"], names, defaults, one.start(), one.end(), end))
    return found


def lambdas_in(code: str) -> list[HostFunction]:
    """The lambdas of the code that have a name, in its order."""
    found: list[HostFunction] = []
    for one in _LAMBDA.finditer(code):
        names = tuple(map(name_in, split_list(one["parameters"])))
        end = closing(code, one.end() - 1)
        found.append(HostFunction(one["name"], names, ("",) * len(names), one.start(), one.end(), end))
    return found


def _name_of(parameter: str) -> str:
    by_macro = _IN_MACRO.fullmatch(parameter)
    return by_macro[1] if by_macro else name_in(parameter)


def functions_called(code: str, headers: Sequence[str]) -> str:
    """The functions of headers that code calls, as far as these are the host's."""
    found = list[str]()
    for text in headers:
        for one in functions_in(text):
            head = text[max(text.rfind(mark, 0, one.start) for mark in ";}") + 1 : one.start]
            is_called = re.search(rf"(?<![\w.>]){re.escape(one.name)}\s*(?:<[^<>;]*>)?\s*\(", code)
            if is_called and not re.search(r"__(?:device|global)__", head):
                found.append(f"{DIRECTIVE.sub('', head)}{text[one.start : one.end]}")
    return "\n".join(found)


def function_at(functions: Sequence[HostFunction], place: int) -> HostFunction | None:
    """The function that a place of the code is in."""
    return next((one for one in functions if one.start <= place < one.end), None)


def outside_of(code: str, functions: Sequence[HostFunction]) -> str:
    """The code with what stands in functions blanked."""
    for one in functions:
        code = code[: one.body] + spaces(code[one.body : one.end - 1]) + code[one.end - 1 :]
    return code


def leading_to(code: str, functions: Sequence[HostFunction], place: int) -> frozenset[HostFunction]:
    """The function that a place is in, and those that call it, or call one that does."""
    found = {one for one in functions if one.start <= place < one.end}
    while True:
        called = re.compile("|".join(rf"\b{re.escape(one.name)}\s*(?:<[^<>;]*>)?\s*\(" for one in found) or "(?!)")
        more = {one for one in functions if one not in found and called.search(code, one.body, one.end)}
        if not more:
            return frozenset(found)
        found |= more


def handed_back(code: str, functions: Sequence[HostFunction]) -> dict[str, list[tuple[int, str, int]]]:
    """Where names are handed to functions that write numbers by them, with the parameter and where its function ends.

    A parameter by which several names are written says nothing of one of them.
    """
    found: dict[str, list[tuple[int, str, int]]] = {}
    for function in functions:
        parts = split_list(code[function.start : function.body - 1].partition("(")[2].rpartition(")")[0])
        by = [place for place, one in enumerate(parts) if _NUMBER.fullmatch(one)]
        named = re.compile(rf"\b{re.escape(function.name)}\s*(?=\()")
        calls = [one.end() for around in functions if by for one in named.finditer(code, around.body, around.end)]
        given = {one: list_at(code, one) for one in calls}
        for place in by:
            written = {one: passed[place].lstrip("& ") for one, passed in given.items() if place < len(passed)}
            for name in {*written.values()} if len({*written.values()}) == 1 else ():
                found.setdefault(name, []).extend(
                    (one, function.parameters[place], function.end - 1) for one in written
                )
    return found


def member_filled(
    code: str, functions: Sequence[HostFunction], variable: str, path: Sequence[str], start: int, end: int
) -> tuple[str, int] | None:
    """A member by its name in the last function that is handed its variable between two places and sets it."""
    given = rf"\b(?P<by>\w+)\s*(?:<[^<>;]*>)?\s*\((?=(?:[^;]*,)?\s*&?\s*{re.escape(variable)}\s*[,)])"
    known = {one.name: one for one in functions}
    for call in reversed(list(re.compile(given).finditer(code, start, end))):
        if (function := known.get(call["by"])) is None:
            continue
        for parameter, text in zip(function.parameters, list_at(code, call.end() - 1), strict=False):
            name = ".".join((parameter, *path))
            is_set = re.compile(rf"(?<![\w.>]){spelled(name)}\s*=(?!=)|&\s*{spelled(name)}\b")
            if text.lstrip("& ") == variable and is_set.search(code, function.body, function.end):
                return name, function.end - 1
    return None


def returned(code: str, function: HostFunction) -> str | None:
    """What a function returns that is one expression, or a count that it raises until it is enough.

    Of one that looks through what the program is given, which here is nothing, what it returns at its end.
    """
    body = code[function.body : function.end - 1]
    if _COMMAND_LINE.search(code, function.start, function.body):
        last = re.search(r"\breturn\s+(\w+)\s*;\s*$", body)
        return last[1] if last and last[1] in function.parameters else None
    returned = re.fullmatch(r"(?P<before>.*?)\breturn\b(?P<text>[^;{}]*);\s*", body, re.DOTALL)
    if returned is None:
        return None
    meant: dict[str, str] = {}
    at = 0
    while (said := _OWN.match(returned["before"], at)) is not None:
        meant |= {said["name"]: put_in(said["text"].strip(), meant)} if said["name"] else {}
        at = said.end()
    if not returned["before"][at:].strip():
        return put_in(returned["text"].strip(), meant)
    return raised(code, returned["text"].strip(), function.body, function.body + returned.start("text"))


def variable_returned(code: str, functions: Sequence[HostFunction], call: str) -> tuple[str, int] | None:
    """The variable that a function of the file returns at its end, and that place, where text calls one."""
    called = re.match(r"(?:\w+\s*::\s*)*(\w+)\s*\(", call)
    function = next((one for one in functions if called and one.name == called[1]), None)
    if function is None:
        return None
    last = re.search(r"\breturn\s+(\w+)\s*;\s*$", code[function.body : function.end - 1])
    return None if last is None else (last[1], function.body + last.start())
