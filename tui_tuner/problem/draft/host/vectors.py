"""How many elements the vectors of host code have: as many as they are made with, or as another has."""

from __future__ import annotations

import re

from tui_tuner.problem.draft.host.makers import Call, HostMakers, named
from tui_tuner.problem.draft.host.members import put_in
from tui_tuner.problem.draft.host.objects import Taken
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import appended
from tui_tuner.problem.syntax import enclosed, split_list

VECTOR = r"\b(?:\w+\s*::\s*)?(?:device_vector|host_vector|universal_vector|vector|valarray)\s*<(?P<type>[^<>;]*)>"
_BEGINS = re.compile(r"\.(?:begin|cbegin)\s*\(\s*\)$")


class HostVectors:
    """Reads what vectors of a host program are made with."""

    def __init__(self, program: HostProgram, makers: HostMakers) -> None:
        self._program = program
        self._code = program.code
        self._makers = makers

    def bytes_of(self, name: str, place: int) -> Taken | None:
        """The bytes of a vector's elements; None for what is no vector."""
        if (found := self.of(name, place)) is None:
            return None
        (elements, where), kind = found
        return Taken(f"({elements}) * sizeof({kind})", where)

    def of(self, name: str, place: int, steps: int = 3) -> tuple[Taken, str] | None:
        """The elements of a vector, and their type: as many as it is made with, or as another has."""
        if (member := re.fullmatch(r"\w+(?:\.\w+)*\.(\w+)", name)) is not None:
            one = re.search(rf"{VECTOR}[^;(){{}}&]*\b{member[1]}\s*(?:,[^;(){{}}]*)?;", self._code)
            return (Taken(f"{name}.size()", place), one["type"]) if one else None
        others = r"[^;()]*(?:\((?:[^;()]|\([^;()]*\))*\)[^;()]*)*?"
        declared = re.compile(rf"{VECTOR}{others}(?<![\w.])\b{re.escape(name)}\b")
        for found in self._makers.made_at(declared, name, place):
            behind = re.match(r"\s*([=({;])\s*", self._code[found.end() :])
            if behind is None:
                continue
            if behind[1] == ";":
                if (count := appended(self._code, name, found.end(), found.endpos)) is not None:
                    return Taken(str(count), found.start()), found["type"]
                continue
            opening = found.end() + behind.end(1) - 1
            inside = (
                self._code[opening + 1 : self._code.find(";", opening)]
                if behind[1] == "="
                else enclosed(self._code, opening)
            )
            first, behind_first = [*split_list(inside), "", ""][:2]
            part = re.fullmatch(rf"{re.escape(first)}\s*\+(.+)", behind_first) if _BEGINS.search(first) else None
            if part is not None:  # from another's beginning on
                return Taken(part[1].strip(), found.start()), found["type"]
            by = self._makers.called(first, found.start())
            if (made := by and self._by_function(by, steps)) is not None:
                return made
            other = named(_BEGINS.sub("", first))
            copied = self.of(other, found.start(), steps - 1) if steps and other != name else None
            elements = self._elements_given(other, found.start()) or first
            return copied or (Taken(elements, found.start()), found["type"])
        calls = self._makers.calls_for(name, place) if steps else ()
        return next(filter(None, (self._by_function(call, steps) for call in calls)), None)

    def _by_function(self, call: Call, steps: int) -> tuple[Taken, str] | None:
        """The elements of a vector that a function makes, in the words of its call."""
        variable = self._makers.variable(call) if steps else None
        made = self.of(*variable, steps - 1) if variable else None
        if made is None:
            return None
        (elements, where), kind = made
        return Taken(self._makers.in_words_of(call, elements, where), call.place), put_in(kind, call.meant)

    def _elements_given(self, name: str, place: int) -> str:
        """What a function calls the elements of a vector that it is given; empty for what is none."""
        function = self._program.function_at(place)
        text = "" if function is None else self._code[function.start : function.end]
        given = rf"^[^{{}};]*{VECTOR}\s*(?:const\s*)?[&*]?\s*{re.escape(name)}\s*[,)]"
        called = re.search(rf"\b(\w+)\s*=\s*(?:\(\w+\)\s*)?{re.escape(name)}\s*\.\s*size\s*\(\s*\)\s*[;,]", text)
        return (called[1] if called else f"{name}.size()") if re.search(given, text) else ""
