"""The functions of host code: where they stand, which lead to a place, what those return that are one expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tui_tuner.problem.draft.host_loops import raised
from tui_tuner.problem.draft.host_members import put_in
from tui_tuner.problem.syntax import closing, name_in, split_list

_FUNCTION = re.compile(
    r"\b(?P<name>\w+)\s*\((?P<parameters>[^(){};]*(?:=[^(){};]*\([^(){};]*\)[^(){};]*)*)\)\s*(?:const\s*)?"
    r"(?::(?!:)[^;{}]{0,400}\)\s*)?\{"  # what a constructor sets members to
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
            names, defaults = tuple(map(name_in, parts)), tuple(part.partition("=")[2].strip() for part in parts)
            end = closing(code, one.end() - 1, "{}")
            found.append(HostFunction(one["name"], names, defaults, one.start(), one.end(), end))
    return found


def leading_to(code: str, functions: Sequence[HostFunction], place: int) -> frozenset[HostFunction]:
    """The function that a place is in, and those that call it, or call one that does."""
    found = {one for one in functions if one.start <= place < one.end}
    while True:
        called = re.compile("|".join(rf"\b{re.escape(one.name)}\s*(?:<[^<>;]*>)?\s*\(" for one in found) or "(?!)")
        more = {one for one in functions if one not in found and called.search(code, one.body, one.end)}
        if not more:
            return frozenset(found)
        found |= more


def returned(code: str, function: HostFunction) -> str | None:
    """What a function returns that is one expression, or a count that it raises until it is enough."""
    body = code[function.body : function.end - 1]
    returned = re.fullmatch(r"(?P<before>.*?)\breturn\b(?P<text>[^;{}]*);\s*", body, re.DOTALL)
    if returned is None:
        return None
    own = re.compile(r"\s*(?:const\s+)?(?:unsigned\s+)?\w+\s+(\w+)\s*=(?!=)([^;{}]*);")
    meant: dict[str, str] = {}
    at = 0
    while (said := own.match(returned["before"], at)) is not None:
        meant[said[1]], at = put_in(said[2].strip(), meant), said.end()
    if not returned["before"][at:].strip():
        return put_in(returned["text"].strip(), meant)
    return raised(code, returned["text"].strip(), function.body, function.body + returned.start("text"))
