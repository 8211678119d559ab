"""The memory that the host takes for a kernel's arrays: how much of it, and which random numbers it is filled with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui_tuner.problem.draft.host.functions import HostFunction
from tui_tuner.problem.draft.host.makers import CAST, Call, HostMakers, allocated, named
from tui_tuner.problem.draft.host.objects import ELEMENT, HostObjects, Supposed, Taken
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import spelled
from tui_tuner.problem.draft.host.vectors import VECTOR, HostVectors
from tui_tuner.problem.signature import KernelParameter
from tui_tuner.problem.syntax import list_at, split_list, unwrapped

LIST = "{}[]"
"""How many addresses a list holds, by the name of what it leads to."""
_MOST_STEPS = 12
_OF_VECTOR = re.compile(
    r"\(*(?P<first>\w+(?:\.\w+)*)\)*(?:\.|->)size\(\)\)*\s*\*\s*sizeof\s*\(.*|"
    r"\(?sizeof\s*\([^*]*\)\s*\*\s*\(*(?P<last>\w+(?:\.\w+)*)\)*(?:\.|->)size\(\)\)*"
)
"""The bytes of all elements of a vector."""
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
        self._makers = HostMakers(program)
        self._vectors = HostVectors(program, self._makers)
        self._known: dict[tuple[str, int], Taken | None] = {}

    def taken(self, pointer: str, place: int) -> Taken | None:
        """The bytes that memory of this name is taken with; followed to the callers of a function."""
        if (pointer, place) not in self._known:
            self._known[pointer, place] = self._looked_for(pointer, place)
        return self._known[pointer, place]

    def _looked_for(self, pointer: str, place: int) -> Taken | None:
        for name, where in self.followed(pointer, place):
            ways = (self._allocated, self._buffer, self._vectors.bytes_of, self._by_function, self._objects.memory)
            found = next((one for way in ways if (one := way(name, where)) is not None), None)
            if found is not None:
                return found
        if (call := self._called(pointer, place)) is not None:
            return self._taken_by(call)
        moved = (self._moved(name, where) for name, where in self.followed(pointer, place))
        return next(filter(None, moved), None)

    def _moved(self, name: str, place: int) -> Taken | None:
        """The bytes that are set or copied, from the beginning of memory on, where the host takes it nowhere."""
        plain = re.escape(name)
        moved = re.compile(
            rf"\bcudaMemset(?:Async)?\s*\(\s*{plain}\s*,[^;,]*,(?P<set>[^;]*)|\bcudaMemcpy(?:Async)?\s*\(\s*"
            rf"(?:{plain}\s*,[^;,]*|[^;,]*,\s*{plain}\s*),(?P<copied>[^;]*)"
        )
        found = next(self._makers.made_at(moved, name, place), None)
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
        if not (names := list(self.followed(pointer, place))):
            return False
        name, place = names[-1]
        function = self._program.function_at(place)
        start, end = (0, len(self._code)) if function is None else (function.start, function.end)
        divided = re.compile(rf"(?<![\w.]){re.escape(name)}\b[\s)]*\+\s*\w")
        return divided.search(self._code, start, end) is not None

    def elements(self, name: str, place: int) -> Taken | None:
        """What `x.size()` is of a vector, `x.size(0)` of a tensor, or a member of an object; None for any other."""
        asked = re.fullmatch(r"(\w+)(?:\.|->)size\(\)", name)
        vectors = (self._vectors.of(*one) for one in self.followed(asked[1], place)) if asked else ()
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
        return next(filter(None, (self._random(array) for array, _ in self.uploaded(pointer, place))), None)

    def copies_to(self, name: str) -> Iterator[Iterator[re.Match[str]]]:
        """Where memory becomes what an array of the host (`host`) holds: by copies, and as a vector made of it."""
        plain = re.escape(name)
        yield re.finditer(rf"\bcudaMemcpy(?:Async|ToSymbol)?\s*\(\s*{plain}\s*,\s*&?(?P<host>\w+)", self._code)
        yield re.finditer(rf"{VECTOR}[^;]*?\b{plain}\s*(?:=|\(|\{{)\s*(?P<host>[A-Za-z_]\w*)\b", self._code)

    def uploaded(self, pointer: str, place: int) -> Iterator[tuple[str, int]]:
        """The arrays of the host that functions copy to the memory which they return, each with where it is given."""
        of_names = (call for one in self.followed(pointer, place) for call in self._makers.calls_for(*one))
        for call in (*of_names, self._called(pointer, place)):
            if call is not None and (host := self._makers.copied(call)) is not None:
                yield from self.followed(host, call.place)

    def returned(self, name: str, place: int) -> tuple[str, int] | None:
        """The variable that a function returns to which a name is set, and where."""
        made = (self._makers.variable(call) for call in self._makers.calls_for(name, place))
        return next(filter(None, made), None)

    def around(self, place: int) -> list[HostFunction]:
        """The lambda that a place of the code is in, and the function."""
        return self._makers.around(place)

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

    def _allocated(self, name: str, place: int) -> Taken | None:
        taken = re.compile(rf"\bcudaMalloc(?P<how>\w*)\s*(?:<[^<>]*>)?\s*\((?=[^;]*?&\s*{spelled(name)}\b)")
        if (found := next(self._makers.made_at(taken, name, place), None)) is None:
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
        if (found := next(self._makers.made_at(made, name, place), None)) is None:
            return None
        given = list_at(self._code, found.end())
        ends = [re.search(r"\bend\b", one) is not None for one in given[:3]]
        if len(given) > 2 and any(ends):  # from the first element of a vector to its last
            vector = re.sub(r"^.*\(\s*(\w+)\s*\)$|^(\w+)\s*\..*$", r"\1\2", given[ends.index(True)].strip())
            return self._vectors.bytes_of(vector, found.start())
        return Taken(given[2], found.start()) if len(given) > 2 else None

    def _by_function(self, name: str, place: int) -> Taken | None:
        """The bytes that a function takes which returns the memory that a name is set to."""
        taken = (self._taken_by(call) for call in self._makers.calls_for(name, place))
        return next(filter(None, taken), None)

    def _taken_by(self, call: Call) -> Taken | None:
        if (nbytes := self._makers.bytes_taken(call)) is None:
            return None
        if (of_vector := _OF_VECTOR.fullmatch(re.sub(r"\s", "", nbytes))) is None:
            return Taken(nbytes, call.place)
        name = of_vector["first"] or of_vector["last"]
        vectors = (self._vectors.bytes_of(*one) for one in self.followed(name, call.place))
        found = next(filter(None, vectors), None)
        is_unread = found is not None and not self._program.is_arithmetic(found.text)
        return Taken(nbytes, call.place) if is_unread else found

    def _called(self, pointer: str, place: int) -> Call | None:
        """The call of a function of the file that a pointer, or a member, stands for in the end."""
        for name, where in self.followed(pointer, place):
            pointer, place = self._program.meaning(name, where) or ("", where)
        return self._makers.called(named(pointer), place)

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
        held = self._vectors.of(array, found.start()) if found else None
        return Drawn(0, held[0].text, held[0].place) if held else None

    def _numbers(self, found: re.Match[str]) -> Drawn:
        low = self._program.text[found.start("low") : found.end("low")] if found["low"] else "0"
        count = found["count"] if found["by"] == "%" else f"({found['count']} + 1)"
        least = ord(low[1]) if low.startswith("'") else int(low)
        return Drawn(least + int(found["above"] or 0), count, found.start())


def _remainders(text: str) -> str:
    """How many numbers there are, from 0 on, that text may come to: what remains of a division."""
    text = text.strip()
    while (plain := unwrapped(CAST.sub("", text))) != text:
        text = plain
    outside = re.sub(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", lambda held: "_" * len(held[0]), text)
    remainder = re.fullmatch(r"[\w\s.*/]*%\s*(\w+)\s*", outside)
    return text[remainder.start(1) : remainder.end(1)] if remainder else ""
