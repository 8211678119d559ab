"""The memory that the host takes for a kernel's arrays: how much of it, and which random numbers it is filled with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui_tuner.problem.draft.host.members import put_in
from tui_tuner.problem.draft.host.objects import ELEMENT, HostObjects, Supposed, Taken, allocated
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import appended
from tui_tuner.problem.signature import KernelParameter
from tui_tuner.problem.syntax import enclosed, list_at, split_list, unwrapped

LIST = "{}[]"
"""How many addresses a list holds, by the name of what it leads to."""
_MOST_STEPS = 12
_CAST = re.compile(r"^\(\s*(?:const\s+)?[\w\s:]+[*\s]*\)\s*(?=\S)|^(?:reinterpret|static|const)_cast\s*<[^<>]*>\s*")
_BEGINS = re.compile(r"\.(?:begin|cbegin)\s*\(\s*\)$")
_COPIED = re.compile(r"\bcudaMemcpy(?:Async)?\s*\([^;,]*,\s*(?P<host>[^;,]*),[^;]*HostToDevice")
_VECTOR = r"\b(?:\w+\s*::\s*)?(?:device_vector|host_vector|universal_vector|vector|valarray)\s*<(?P<type>[^<>;]*)>"
_WHOLE_NUMBERS = r"\buniform_int_distribution\s*(?:<[^<>]*>)?\s*"
_RANDOM = (
    r"(?:\([\w\s]+\)|\w+\()?\s*(?:(?P<low>'[^'\\]'|\d+)\s*\+\s*)?\(?\s*(?:std::)?"
    r"(?:rand|random|lrand48|rng|gen|generator|mt|engine|eng)\s*\(\s*\)\s*(?P<by>[%&])\s*(?P<count>\w+)\s*\)?\s*\)?"
    r"(?:\s*\+\s*(?P<above>\d+))?"
)


class Drawn(NamedTuple):
    """Whole numbers, random or listed: the least, and how many there may be, as text that stands at a place."""

    low: int
    number: str
    place: int


class HostMemory:
    """Reads of a host program what it takes memory for."""

    def __init__(self, program: HostProgram) -> None:
        self._program = program
        self._code = program.code
        self._objects = HostObjects(program)

    def taken(self, pointer: str, place: int) -> Taken | None:
        """The bytes that memory of this name is taken with; followed to the callers of a function."""
        for name, where in self.followed(pointer, place):
            ways = (self._allocated, self._buffer, self._bytes_of_vector, self._by_function, self._objects.memory)
            found = next((one for way in ways if (one := way(name, where)) is not None), None)
            if found is not None:
                return found
        moved = (self._moved(name, where) for name, where in self.followed(pointer, place))
        return next(filter(None, moved), None)

    def _moved(self, name: str, place: int) -> Taken | None:
        """The bytes that are set or copied, from the beginning of memory on, where the host takes it nowhere."""
        plain = re.escape(name)
        moved = re.compile(
            rf"\bcudaMemset(?:Async)?\s*\(\s*{plain}\s*,[^;,]*,(?P<set>[^;]*)|\bcudaMemcpy(?:Async)?\s*\(\s*"
            rf"(?:{plain}\s*,[^;,]*|[^;,]*,\s*{plain}\s*),(?P<copied>[^;]*)"
        )
        found = next(self._found(moved, name, place), None)
        given = split_list((found["set"] or found["copied"]).rpartition(")")[0]) if found else []
        return Supposed(given[0], found.start()) if found and given else None

    def arrays(
        self, given: str, place: int, parameter: KernelParameter
    ) -> Iterator[tuple[str, Taken, KernelParameter]]:
        """The memory of an array; of a list of addresses that of each array, and under `LIST` that of the list."""
        taken = self.taken(given, place) if parameter.is_array else None
        if taken is None or ((parameter.behind or "." in given) and self._is_divided(given, place)):
            return
        if not parameter.is_list:
            yield parameter.name, taken, parameter
        elif (part := self._listed(given, place)) is not None:
            yield LIST.format(parameter.name), taken, parameter
            yield parameter.name, part, replace(parameter, type_text=parameter.type_text.replace("*", "", 1))

    def names_of(self, pointers: Sequence[str], place: int) -> frozenset[str]:
        """The names that the bytes of arrays are written with, and those that these stand for."""
        found: set[str] = set()
        for taken in filter(None, (self.taken(one, place) for one in pointers)):
            new = [(name, taken.place) for name in re.findall(r"[A-Za-z_]\w*", taken.text)]
            for _ in range(3):
                found |= {name for name, _ in new}
                meanings = [meaning for name, where in new if (meaning := self._program.meaning(name, where))]
                new = [(name, where) for text, where in meanings for name in re.findall(r"[A-Za-z_]\w*", text)]
        return frozenset(found)

    def _listed(self, pointer: str, place: int) -> Taken | None:
        """The memory of each array whose address is in a list that the host copies to the device."""
        for name, _ in self.followed(pointer, place):
            copied = re.search(rf"\bcudaMemcpy(?:Async)?\s*\(\s*{re.escape(name)}\s*,\s*&?(?P<host>\w+)", self._code)
            if copied is None:
                continue
            if (own := self._allocated(copied["host"], copied.start())) is not None:
                return own
            put = rf"\b{copied['host']}\s*(?:\[[^\]]*\]\s*=(?!=)|\.\s*(?:push|emplace)_back\s*\()\s*(?P<given>[^;]+);"
            for one in re.finditer(put, self._code):
                apart = re.fullmatch(r"[^+]*\+\s*(?:\(\s*\w+\s*\)\s*)?\w+\s*\*\s*(?P<apart>[^;]*?)\)?", one["given"])
                found = Taken(f"({apart['apart']}) * {ELEMENT}", one.start()) if apart else None
                if found := found or self.taken(one["given"].rstrip(" )"), one.start()):
                    return found
        return None

    def _is_divided(self, pointer: str, place: int) -> bool:
        """Whether the host makes several arrays of the memory that a pointer is taken from, as by `all + n`."""
        name, place = list(self.followed(pointer, place))[-1]
        function = self._program.function_at(place)
        start, end = (0, len(self._code)) if function is None else (function.start, function.end)
        divided = re.compile(rf"(?<![\w.]){re.escape(name)}\b[\s)]*\+\s*\w")
        return divided.search(self._code, start, end) is not None

    def elements(self, name: str, place: int) -> Taken | None:
        """What `x.size()` is of a vector, `x.size(0)` of a tensor, or a member of an object; None for any other."""
        asked = re.fullmatch(r"(\w+)(?:\.|->)size\(\)", name)
        vectors = (self._vector(*one) for one in self.followed(asked[1], place)) if asked else ()
        of_vector = next((found[0] for found in vectors if found is not None), None)
        return of_vector or self._objects.member(name, place)

    def drawn(self, pointer: str, place: int) -> Drawn | None:
        """The random whole numbers that the host fills an array with; followed to the callers of a function.

        The array is the memory itself, where the host can write it, or the one of the host that is copied to it.
        """
        for name, _ in self.followed(pointer, place):
            firsts = (next(way, None) for way in self.copies_to(name))
            found = next((self._random(one["host"]) for one in firsts if one), None) or self._random(name)
            if found is not None:
                return found
        return None

    def copies_to(self, name: str) -> Iterator[Iterator[re.Match[str]]]:
        """Where memory becomes what an array of the host (`host`) holds: by copies, and as a vector made of it."""
        plain = re.escape(name)
        yield re.finditer(rf"\bcudaMemcpy(?:Async|ToSymbol)?\s*\(\s*{plain}\s*,\s*&?(?P<host>\w+)", self._code)
        yield re.finditer(rf"{_VECTOR}[^;]*?\b{plain}\s*(?:=|\(|\{{)\s*(?P<host>[A-Za-z_]\w*)\b", self._code)
        yield self._copied_by_function(name)

    def _copied_by_function(self, name: str) -> Iterator[re.Match[str]]:
        """Where memory is what a function returns that copies an array of the host, which it is given, there."""
        made = rf"(?<![\w.>]){re.escape(name)}\s*=(?!=)\s*(?:\([^()]*\)\s*)?"
        for by in dict.fromkeys(re.findall(rf"{made}(\w+)\s*(?:<[^<>;]*>)?\s*\(", self._code)):
            for function in (one for one in self._program.functions if one.name == by):
                copied = _COPIED.search(self._code, function.body, function.end)
                if copied is not None and (source := named(copied["host"])) in function.parameters:
                    others = rf"(?:[^,;()]*,){{{function.parameters.index(source)}}}\s*&?\s*(?P<host>[A-Za-z_]\w*)"
                    yield from re.finditer(rf"{made}{by}\s*(?:<[^<>;]*>)?\s*\({others}", self._code)

    def followed(self, pointer: str, place: int) -> Iterator[tuple[str, int]]:
        """A pointer's name, and what it stands for in callers."""
        for _ in range(_MOST_STEPS):
            name = named(pointer)
            if not re.fullmatch(r"\w+(?:(?:\[\w+\])?(?:\.|->)\w+)*", name):
                return
            yield name, place
            meaning = self._program.meaning(name, place)
            if meaning is None or meaning[1] == place:
                return
            pointer, place = meaning

    def _found(self, made: re.Pattern[str], name: str, place: int) -> Iterator[re.Match[str]]:
        """Where a name is made, the last first: in the function of a place, then anywhere, unless it is an argument."""
        function = self._program.function_at(place)
        spans = [] if function is None else [(function.start, function.end)]
        spans += [] if function is not None and name in function.parameters else [(0, len(self._code))]
        for start, end in spans:
            yield from reversed(list(made.finditer(self._code, start, end)))

    def _allocated(self, name: str, place: int) -> Taken | None:
        taken = re.compile(rf"\bcudaMalloc(?P<how>\w*)\s*(?:<[^<>]*>)?\s*\((?=[^;]*?&\s*{re.escape(name)}\b)")
        if (found := next(self._found(taken, name, place), None)) is None:
            return None
        _, nbytes = allocated(found)
        return Taken(nbytes, found.start()) if nbytes else None

    def _buffer(self, name: str, place: int) -> Taken | None:
        """The bytes of an OpenCL buffer, or of the vector that one is made of."""
        plain = re.escape(name)
        by = r"(?:\w*clCreateBuffer\w*|\w*clSVMAlloc\w*|(?:cl\s*::\s*)?Buffer)\s*(?=[({])"
        made = re.compile(
            rf"\b{plain}(?:\[\w+\])?\s*=(?!=)\s*(?:\([^()]*\)\s*)?{by}|\bBuffer\s+(?:[^;]*\s)?{plain}\s*(?=[({{])"
        )
        if (found := next(self._found(made, name, place), None)) is None:
            return None
        given = list_at(self._code, found.end())
        ends = [re.search(r"\bend\b", one) is not None for one in given[:3]]
        if len(given) > 2 and any(ends):  # from the first element of a vector to its last
            vector = re.sub(r"^.*\(\s*(\w+)\s*\)$|^(\w+)\s*\..*$", r"\1\2", given[ends.index(True)].strip())
            return self._bytes_of_vector(vector, found.start())
        return Taken(given[2], found.start()) if len(given) > 2 else None

    def _by_function(self, name: str, place: int) -> Taken | None:
        """The bytes that a function takes which returns the memory, in the words of its call."""
        by = r"(?:\([^()]*\)\s*)?(?P<by>\w+)\s*(?:<(?P<types>[^<>;]*)>)?\s*\("
        made, taken = re.compile(rf"\b{re.escape(name)}\s*=(?!=)\s*{by}"), re.compile(r"\bcudaMalloc\w*\s*\(")
        for call in self._found(made, name, place):
            function = next((one for one in self._program.functions if one.name == call["by"]), None)
            inside = function and taken.search(self._code, function.body, function.end)
            if function is None or not inside:
                continue
            given = list_at(self._code, call.end() - 1)
            asked = list_at(self._code, inside.end() - 1)
            types = zip(self._program.templates.names_of(function), split_list(call["types"] or ""), strict=False)
            meant = {**dict(zip(function.parameters, given, strict=False)), **dict(types)}
            if len(asked) < 2 or len(given) != len(function.parameters):
                continue
            of_vector = re.match(r"(\w+)\s*(?:\.|->)\s*size\s*\(\s*\)\s*\*\s*sizeof\b", asked[1])
            if of_vector and (vector := meant.get(of_vector[1])) is not None:
                return self._bytes_of_vector(named(vector), call.start())
            return Taken(put_in(asked[1], meant), call.start())
        return None

    def _bytes_of_vector(self, name: str, place: int) -> Taken | None:
        if (found := self._vector(name, place)) is None:
            return None
        (elements, where), kind = found
        return Taken(f"({elements}) * sizeof({kind})", where)

    def _vector(self, name: str, place: int, steps: int = 3) -> tuple[Taken, str] | None:
        """The elements of a vector, and their type: as many as it is made with, or as another has."""
        if (member := re.fullmatch(r"\w+(?:\.\w+)*\.(\w+)", name)) is not None:
            one = re.search(rf"{_VECTOR}[^;(){{}}]*\b{member[1]}\s*[,;]", self._code)
            return (Taken(f"{name}.size()", place), one["type"]) if one else None
        others = r"[^;()]*(?:\((?:[^;()]|\([^;()]*\))*\)[^;()]*)*?"
        declared = re.compile(rf"{_VECTOR}{others}(?<![\w.])\b{re.escape(name)}\b")
        for found in self._found(declared, name, place):
            behind = re.match(r"\s*([=({;])\s*", self._code[found.end() :])
            if behind is None:
                continue
            if behind[1] == ";":
                if (count := appended(self._code, name, found.end(), found.endpos)) is not None:
                    return Taken(str(count), found.start()), found["type"]
                continue
            opening = found.end() + behind.end(1) - 1
            inside = (
                self._code[opening + 1 : self._code.find(";", opening)].partition(",")[0]
                if behind[1] == "="
                else enclosed(self._code, opening)
            )
            first, behind_first = [*split_list(inside), "", ""][:2]
            part = re.fullmatch(rf"{re.escape(first)}\s*\+(.+)", behind_first) if _BEGINS.search(first) else None
            if part is not None:  # from another's beginning on
                return Taken(part[1].strip(), found.start()), found["type"]
            other = named(_BEGINS.sub("", first))
            copied = self._vector(other, found.start(), steps - 1) if steps and other != name else None
            elements = self._elements_given(other, found.start()) or first
            return copied or (Taken(elements, found.start()), found["type"])
        return None

    def _elements_given(self, name: str, place: int) -> str:
        """What a function calls the elements of a vector that it is given; empty for what is none."""
        function = self._program.function_at(place)
        text = "" if function is None else self._code[function.start : function.end]
        given = rf"^[^{{}};]*{_VECTOR}\s*(?:const\s*)?[&*]?\s*{re.escape(name)}\s*[,)]"
        called = re.search(rf"\b(\w+)\s*=\s*(?:\(\w+\)\s*)?{re.escape(name)}\s*\.\s*size\s*\(\s*\)\s*[;,]", text)
        return (called[1] if called else f"{name}.size()") if re.search(given, text) else ""

    def _random(self, array: str) -> Drawn | None:
        others = r"(?:\s*\w+\s*\[[^;=]*\]\s*=(?!=))*"  # that are set to the same
        element = rf"\b{array}\s*(?:\[[^;=]*\]\s*=(?!=){others}|\.\s*push_back\s*\()"
        loop = rf"\bfor\s*\(\s*[\w:]+\s*&+\s*(?P<one>\w+)\s*:\s*{array}\s*\)\s*\{{?\s*(?P=one)\s*=(?!=)"
        generated = rf"\bgenerate\w*\s*\([^;{{]*\b{array}\b[^;{{]*\{{\s*return\b"
        begun = rf"(?:{element}|{loop}|{generated})"
        found = re.search(rf"{begun}\s*{_RANDOM}\s*\)?\s*;", self._code)
        if found is not None:
            return self._numbers(found)
        if (drawn := self._distributed(begun) or self._counted(array)) is not None:
            return drawn
        for written in re.finditer(rf"{element}([^;]*);", self._code):
            bounded = re.fullmatch(r"\s*(?:std\s*::\s*)?max\s*\(\s*(\d+)\s*,\s*(\w+)\s*-[^;,]*\)\s*", written[1])
            if bounded is not None:
                return Drawn(int(bounded[1]), bounded[2], written.start())
            if (count := _remainders(written[1])) and not self._is_given_to_kernel(count, written.start()):
                return Drawn(0, count, written.start())
        listed = re.search(rf"\b{array}\s*(?:\[[^\]]*\]\s*)+=?\s*\{{([-\s\d,{{}}]+)\}}\s*[;,]", self._code)
        if listed is not None and (numbers := [int(one) for one in re.findall(r"-?\d+", listed[1])]):
            return Drawn(min(numbers), str(max(numbers) - min(numbers) + 1), listed.start())
        made = re.search(rf"\b{array}\s*=\s*(?:\([^()]*\)\s*)?(?P<by>\w+)\s*\(", self._code)
        function = next((one for one in self._program.functions if made and one.name == made["by"]), None)
        if made is None or function is None:
            return None
        inside = re.compile(rf"\[[^;=]*\]\s*=(?!=)\s*{_RANDOM}\s*;").search(self._code, function.body, function.end)
        return None if inside is None else self._numbers(inside)

    def _is_given_to_kernel(self, name: str, place: int) -> bool:
        """Whether a name is a scalar of the kernel that a place is in, of which nothing is said there."""
        function = self._program.function_at(place)
        if function is None or name not in function.parameters:
            return False
        head = self._code[max(self._code.rfind(mark, 0, function.start) for mark in ";}") + 1 : function.start]
        return "__global__" in head

    def _distributed(self, begun: str) -> Drawn | None:
        """Numbers that a distribution of the standard library gives, by what stands before them."""
        for found in re.finditer(rf"{begun}\s*(?:\([\w\s]+\))?\s*(?P<by>\w+)\s*\(\s*\w+\s*\)\s*\)?\s*;", self._code):
            made = re.search(rf"{_WHOLE_NUMBERS}{found['by']}\s*[({{]\s*(\d+)\s*,([^;{{}}]+?)[)}}]\s*[;,]", self._code)
            if made is not None:
                behind, is_said = re.subn(r"-\s*1$", "", made[2].strip())
                return Drawn(int(made[1]), f"({behind}{'' if is_said else '+ 1'} - {made[1]})", made.start())
        return None

    def _counted(self, array: str) -> Drawn | None:
        """The numbers from 0 on of a vector that counts."""
        found = re.search(rf"\biota\s*\(\s*{array}\s*\.\s*begin\s*\(\s*\)\s*,[^;]*,\s*0\s*\)\s*;", self._code)
        held = self._vector(array, found.start()) if found else None
        return Drawn(0, held[0].text, held[0].place) if held else None

    def _numbers(self, found: re.Match[str]) -> Drawn:
        low = self._program.text[found.start("low") : found.end("low")] if found["low"] else "0"
        count = found["count"] if found["by"] == "%" else f"({found['count']} + 1)"
        least = ord(low[1]) if low.startswith("'") else int(low)
        return Drawn(least + int(found["above"] or 0), count, found.start())


def _remainders(text: str) -> str:
    """How many numbers there are, from 0 on, that text may come to: what remains of a division."""
    text = text.strip()
    while (plain := unwrapped(_CAST.sub("", text))) != text:
        text = plain
    outside = re.sub(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", lambda held: "_" * len(held[0]), text)
    remainder = re.fullmatch(r"[\w\s.*/]*%\s*(\w+)\s*", outside)
    return text[remainder.start(1) : remainder.end(1)] if remainder else ""


def named(pointer: str) -> str:
    """The name of the memory that is passed, without conversions and what asks a vector for it."""
    text = pointer.strip()
    while (plain := _CAST.sub("", text)) != text:
        text = plain.strip()
    if (inner := re.fullmatch(r"(?:thrust\s*::\s*)?raw_pointer_cast\s*\(\s*(.*?)\s*\)|\((.*)\)", text)) is not None:
        return named(inner[1] or inner[2])
    text = re.sub(r"^&\s*", "", text)
    return re.sub(r"\s*\[.*\]$|\s*(?:\.|->)\s*\w+\s*(?:<[^<>]*>)?\s*\(\s*\)$", "", text)
