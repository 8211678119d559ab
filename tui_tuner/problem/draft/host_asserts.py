"""Extents of tensors that the host asserts to be alike, or to be a number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tui_tuner.problem.draft.host_functions import HostFunction
from tui_tuner.problem.draft.host_objects import Taken
from tui_tuner.problem.draft.host_program import HostProgram
from tui_tuner.problem.syntax import list_at, unwrapped

_ASSERTS = re.compile(r"\b(?P<name>assert|\w*(?:CHECK|ASSERT)\w*)\s*\(")
_EXTENT = re.compile(r"\w+(?:\.|->)(?:size\(\d+\)|numel\(\))")
_SIDE = r"([^=<>!&|?]+)"


class _Alike(NamedTuple):
    """What a function asserts to be alike, and where it does so last."""

    function: HostFunction | None
    texts: Sequence[str]
    place: int


def asserted_extents(program: HostProgram) -> dict[tuple[HostFunction | None, str], Taken]:
    """What extents of tensors, as `x.size(0)` in a function, are: what is no extent, else the one that stands first."""
    groups: list[_Alike] = []
    for *sides, place in _equalities(program.code):
        function, extents = program.function_at(place), {one for one in sides if _EXTENT.fullmatch(one)}
        joined = [one for one in groups if one.function == function and extents & {*one.texts}]
        texts = dict.fromkeys([*(text for one in joined for text in one.texts), *sides])
        groups = [one for one in groups if one not in joined] + [_Alike(function, [*texts], place)]
    return {
        (one.function, text): Taken(said, one.place)
        for one in groups
        for said in [_said(one, program)]
        for text in one.texts
        if _EXTENT.fullmatch(text) and text != said
    }


def _said(alike: _Alike, program: HostProgram) -> str:
    start, end = (0, alike.place) if alike.function is None else (alike.function.start, alike.function.end)
    code = re.sub(r"\s", "", program.code[start:end])
    known = [text for text in alike.texts if not _EXTENT.fullmatch(text)]
    return known[0] if known else min(alike.texts, key=code.find)


def _equalities(code: str) -> Iterator[tuple[str, str, int]]:
    """The two sides of each equality that is asserted, without spaces, and where."""
    for found in _ASSERTS.finditer(code):
        given = list_at(code, found.end() - 1)
        if found["name"].endswith("_EQ") and len(given) > 1:
            yield re.sub(r"\s", "", given[0]), re.sub(r"\s", "", given[1]), found.start()
            continue
        for part in unwrapped(given[0]).split("&&") if given else ():
            sides = re.fullmatch(rf"{_SIDE}=={_SIDE}", re.sub(r"\s", "", unwrapped(part.strip())))
            if sides is not None:
                yield sides[1], sides[2], found.start()
