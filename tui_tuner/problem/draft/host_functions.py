"""The functions of host code: where they stand, and what those return that come to one expression."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tui_tuner.problem.draft.host_loops import raised
from tui_tuner.problem.draft.host_members import put_in
from tui_tuner.problem.syntax import closing, name_in, split_list

_FUNCTION = re.compile(
    r"\b(?P<name>\w+)\s*\((?P<parameters>[^(){};]*(?:=[^(){};]*\([^(){};]*\)[^(){};]*)*)\)\s*(?:const\s*)?\{"
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
