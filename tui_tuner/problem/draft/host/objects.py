"""Objects of the host that own a kernel's memory: of classes that the file declares, and tensors of PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from tui_tuner.problem.draft.host.functions import HostFunction
from tui_tuner.problem.draft.host.makers import TAKES, allocated
from tui_tuner.problem.draft.host.members import listed, put_in
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.views import extents_written_out
from tui_tuner.problem.structures import template_of
from tui_tuner.problem.syntax import closing, list_at, name_in, split_list, unwrapped

_MOST_STEPS = 6
_LISTED = r"(?:[^{};]|(?<=\w)\{[^{}]*\}(?=\s*[,{]))*"
"""What a constructor sets members to before its body."""
_PATH = r"(?<![\w.>])\w+(?:\.\w+)*"
ELEMENT = "sizeof(element)"
"""The bytes of what a tensor holds, which is what the kernel's array holds."""


_ASSERTS = re.compile(r"\b(?P<name>assert|\w*(?:CHECK|ASSERT)\w*)\s*\(")
_EXTENT = re.compile(r"\w+(?:\.|->)(?:size\(\d+\)|numel\(\))")
_ONE_EXTENT = r"(?:\w+\.(?:size\(\d+\)|numel\(\))|\w+\s*[-+*/])[\w\s.+*/()-]*?"
_SIDE = r"([^=<>!&|?]+)"


class Taken(NamedTuple):
    """Memory of so many bytes, or elements, as text that stands at a place."""

    text: str
    place: int


class Supposed(Taken):
    """Memory of which the host does not say how much it is: as much as the one other of its kind, or as it copies."""


class Asked(Taken):
    """Memory of a tensor by the extents that the host asks it for, of which it may have more."""


class _Made(NamedTuple):
    """An object's class, what its parameters and members stand for, and where it is made.

    Attributes:
        copied: members that are a parameter of the constructor and nothing else, with its name.
    """

    kind: str
    body: str
    meant: Mapping[str, str]
    copied: Mapping[str, str]
    place: int


class _Alike(NamedTuple):
    """What a function asserts to be alike, and where it does so last."""

    function: HostFunction | None
    texts: Sequence[str]
    place: int


class HostObjects:
    """Reads what objects are made of where the host declares them."""

    def __init__(self, program: HostProgram) -> None:
        self._program = program
        self._code = program.code

    @cached_property
    def _classes(self) -> list[tuple[str, int, int]]:
        """The classes of the file, each with where what is in its braces begins and ends."""
        found = re.finditer(r"\b(?:class|struct)\s+(\w+)\b[^;{}()]*\{", self._code)
        return [(one[1], one.end(), closing(self._code, one.end() - 1)) for one in found]

    @cached_property
    def _asserted(self) -> dict[tuple[HostFunction | None, str], Taken]:
        return _asserted_extents(self._program)

    def memory(self, name: str, place: int) -> Taken | None:
        """The bytes that an object takes, or a member of it, as in `image.data`."""
        variable, _, member = name.replace("->", ".").partition(".")
        made = self._made(variable, place)
        if made is None:
            return self._of_tensor(name, place)
        own = re.compile(rf"&[\s(]*(?:this\s*->\s*)?{member}" if member else "&")
        for call in TAKES.finditer(made.body):
            pointer, nbytes = allocated(call)
            if nbytes and own.search(pointer):
                return Taken(put_in(nbytes, made.meant), made.place)
        return None

    def member(self, name: str, place: int) -> Taken | None:
        """What `image.width` or `buffer.size()` is where the object is made; None where its class does not say.

        In a function of a class so are `width` and what its constructor is given. Of tensors it is what is asserted.
        """
        if (asserted := self._asserted.get((self._program.function_at(place), name))) is not None:
            return asserted
        if (extent := self._extent(name, place)) is not None:
            return extent
        first, *path = re.split(r"\.|->", name)
        own = self._this(place) if first.isidentifier() and self._is_of_object(first, place) else None
        if own is not None and not path:
            return self._as_given(name, own) if name in own.meant else None
        if own is not None and (whole := unwrapped(own.meant.get(first, "")).lstrip("&*")).isidentifier():
            return Taken(".".join((whole, *path)), own.place)
        if own is not None and (text := self._within(first, path, own)) is not None:
            return Taken(text, own.place)
        asked = re.fullmatch(r"(\w+)(?:\.|->)(\w+)(\(\))?", name)
        made = None if asked is None else self._made(asked[1], place)
        if asked is None or made is None:
            return None
        member = asked[2]
        if asked[3]:
            returned = re.search(
                rf"\b{member}\s*\(\s*\)\s*(?:const\s*)?(?:noexcept\s*)?\{{\s*return\s+(\w+)\s*;", made.body
            )
            member = returned[1] if returned else ""
        return Taken(made.meant[member], made.place) if member in made.meant else None

    def _within(self, first: str, path: list[str], own: _Made) -> str | None:
        """What a member of a structure is that is a member itself: `origin.x` of `origin{0, n}`."""
        if (whole := ".".join((first, *path))) in own.meant:
            return own.meant[whole]
        for depth in reversed(range(len(path))):
            text = unwrapped(own.meant.get(".".join((first, *path[:depth])), ""))
            if (values := listed(text)) is not None:
                declared = re.search(rf"\b(\w+)\s+(?:\w+\s*,\s*)*{re.escape(first)}\s*[,;={{]", own.body)
                made = re.match(r"make_(\w+)", text)
                kind = made[1] if made else declared[1] if declared and not depth else ""
                return self._program.members.picked(kind, values, path[depth:])
        return None

    def _as_given(self, name: str, own: _Made) -> Taken:
        """What a member is: of one that only copies what the constructor is given, that by its name there."""
        copied = own.copied.get(name, "")
        made = [one for one in self._program.functions if one.name == own.kind and copied in one.parameters]
        return Taken(copied, made[-1].body) if len(made) == 1 else Taken(own.meant[name], own.place)

    def _made(self, variable: str, place: int) -> _Made | None:
        """How an object was made, followed to the callers of a function that is given it."""
        for _ in range(_MOST_STEPS):
            for kind, types, given, where in self._declared(variable, place):
                if (made := self._made_of(kind, types, given, where)) is not None:
                    return made
            function = self._program.function_at(place)
            passed = self._program.meaning(variable, place) if function else None
            if function is None or variable not in function.parameters or passed is None:
                return None
            variable, place = passed[0].lstrip("&* "), passed[1]
            if not variable.isidentifier():
                return None
        return None

    def _declared(self, variable: str, place: int) -> Iterator[tuple[str, list[str], list[str], int]]:
        """Class, template arguments, arguments and place of declarations of a name, the last one first."""
        others = r"(?:\w+\s*[({](?:[^(){};]|\([^(){};]*\))*[)}]\s*,\s*)*"
        declared = re.compile(rf"\b(\w+)\s*(?:<([^<>;]*)>)?\s+{others}{re.escape(variable)}\s*[({{]")
        for found in reversed(list(declared.finditer(self._code, 0, place))):
            yield found[1], split_list(found[2] or ""), list_at(self._code, found.end() - 1), found.start()
        own = self._this(place)
        declared = re.compile(rf"\b(\w+)\s*(?:<([^<>;]*)>)?\s+(?:\w+\s*,\s*)*{re.escape(variable)}\s*[,;]")
        if own is not None and variable in own.meant and (member := declared.search(own.body)):
            types = split_list(put_in(member[2] or "", own.meant))
            yield member[1], types, split_list(listed(given := own.meant[variable]) or given), own.place

    def _is_of_object(self, name: str, place: int) -> bool:
        """Whether a name may be a member, or what a constructor is given, and no function's own."""
        function = self._program.function_at(place)
        in_constructor = function is not None and function.name == self._class_at(place)
        return in_constructor or not self._program.is_local(name, place)

    def _this(self, place: int) -> _Made | None:
        """The object that a function of a class works on: of those that the host makes the last that can be read."""
        kind = self._class_at(place)
        if not kind:
            return None
        types = r"\s*(?:<(?P<types>[^<>;]*)>)?"
        made = rf"\b{kind}{types}\s+\w+\s*[({{]|\bnew\s+{kind}{types.replace('types', 'new')}\s*[({{]"
        made += rf"|\bmake_(?:unique|shared)\s*<\s*{kind}{types.replace('types', 'owned')}\s*>\s*\("
        for found in reversed(list(re.finditer(made, self._code))):
            given = list_at(self._code, found.end() - 1)
            of_template = split_list(found["types"] or found["new"] or found["owned"] or "")
            if (own := self._made_of(kind, of_template, given, found.start())) is not None:
                return own
        return None

    def _class_at(self, place: int) -> str:
        """The class that a place is in, or whose function that is defined elsewhere it is in; empty for none."""
        inside = next((name for name, start, end in self._classes if start <= place < end), "")
        if inside:
            return inside
        function = self._program.function_at(place)
        of = None if function is None else re.search(r"\b(\w+)\s*(?:<[^<>]*>\s*)?::\s*$", self._code[: function.start])
        return of[1] if of else ""

    def _class(self, name: str) -> str | None:
        """The text of a class, with the constructors that are defined outside of it behind that."""
        declared = re.search(rf"\b(?:class|struct)\s+{re.escape(name)}\b[^;{{}}()]*\{{", self._code)
        if declared is None:
            return None
        outside = rf"\b{re.escape(name)}\s*(?:<[^<>]*>\s*)?::\s*(?={re.escape(name)}\s*\([^(){{}};]*\)[^;{{]*\{{)"
        made = [self._code[one.end() :] for one in re.finditer(outside, self._code)]
        bodies = [text[: closing(text, text.index("{"))] for text in made]
        return "\n".join([self._code[declared.end() : closing(self._code, declared.end() - 1)], *bodies])

    def _made_of(self, kind: str, types: list[str], given: list[str], place: int) -> _Made | None:
        """An object of a class that is made of these arguments; None where no constructor takes them."""
        body, names = self._class(kind) or "", template_of(kind, self._code)
        for made in re.finditer(rf"\b{kind}\s*\(([^(){{}};]*)\)\s*(?:noexcept\s*)?(?::({_LISTED}))?\{{", body):
            declared = [one.partition("=") for one in split_list(made[1])]
            parameters = [name_in(one) for one, _, _ in declared]
            left = [default.strip() for _, _, default in declared[len(given) :]]
            if len(given) > len(parameters) or not all(left):
                continue
            meant = {**dict(zip(names, types, strict=False)), **dict(zip(parameters, [*given, *left], strict=True))}
            inside = body[made.end() : closing(body, made.end() - 1)]
            members = re.findall(r"(\w+)\s*(?:\(((?:[^()]|\([^()]*\))*)\)|\{([^{}]*)\})", made[2] or "")
            set_to = [(name, text or (f"{{{braced}}}" if "," in braced else braced)) for name, text, braced in members]
            for set_at_once, text in re.findall(rf"((?:(?:this\s*->\s*)?{_PATH}\s*=(?!=)\s*)+)([^;]*);", inside):
                set_to += [(name, text) for name in re.findall(rf"({_PATH})\s*=", set_at_once)]
            set_to += re.findall(r"\bcudaMallocPitch\s*\([^;,]*,\s*&\s*(\w+)\s*,([^;,]*),", inside)
            copied = {name: text.strip() for name, text in set_to if text.strip() in parameters}
            for name, text in set_to:
                meant.setdefault(name, put_in(text.strip(), meant))
            return _Made(kind, body, meant, copied, place)
        return None

    def _of_tensor(self, name: str, place: int) -> Taken | None:
        """The elements of a tensor: as it is made, as many as another has, or as its `.size(0)` and so on are."""
        plain = re.escape(name)
        for found in self._tensors_made(name, self._program.begin_of(place), place):
            if found["like"]:
                return self._of_tensor(found["like"], found.start()) if found["like"] != name else None
            return Taken(" * ".join([*(f"({one})" for one in _extents_in(found)), ELEMENT]), found.start())
        function = self._program.function_at(place)
        if function is None or name not in function.parameters:
            return None
        body = self._body(function)
        sized = {one: extents for one in function.parameters if (extents := _sizes_asked(one, body))}
        if name not in sized and (made := self._extents_made(name, place)) is not None:
            return Taken(" * ".join([*(f"({one})" for one in made[0]), ELEMENT]), made[1])
        if name in sized or len(sized) != 1 or re.search(rf"\b{plain}\s*\.\s*(?:size|numel)", body):
            extents = sized.get(name, ())
        else:  # nothing is asked of it: supposed to be as large as the one tensor that is
            (extents,) = sized.values()
        kind = Asked if name in sized else Supposed
        where = function.end - 1  # a tensor may be made before its extents are asked for
        return kind(" * ".join([*extents, ELEMENT]), where) if extents else None

    def _tensors_made(self, name: str, start: int, end: int) -> Iterator[re.Match[str]]:
        """Where a tensor is made of a list of extents, or like another, between two places; the last first."""
        made = re.compile(
            rf"\b{re.escape(name)}\s*=\s*(?:torch|at)\s*::\s*"
            rf"(?:(?:zeros|ones|empty|full|rand|randn)\s*\(\s*(?:\{{(?P<list>[^{{}}]*)\}}|(?P<extent>{_ONE_EXTENT})\s*,)"
            r"|(?:zeros|ones|empty|full|rand|randn)_like\s*\(\s*(?P<like>\w+))"
        )
        return reversed(list(made.finditer(self._code, start, end)))

    def _extents_made(self, name: str, place: int) -> tuple[list[str], int] | None:
        """The extents that a tensor is made of, and where; followed to the callers of a function that is given it."""
        for _ in range(_MOST_STEPS):
            found = next(self._tensors_made(name, self._program.begin_of(place), place), None)
            if found is not None and not found["like"]:
                return _extents_in(found), found.start()
            passed = None if found else self._program.meaning(name, place)
            text, where = (found["like"], found.start()) if found else passed or ("", place)
            other = re.fullmatch(r"[\s&*]*(\w+)(?:\.(?:cuda|contiguous|detach)\(\))*\s*", text)
            if other is None or where == place:
                return None
            name, place = other[1], where
        return None

    def _extent(self, name: str, place: int) -> Taken | None:
        """What `x.size(0)` or `x.numel()` is: where it is seen of what the tensor is made, or all extents are asked."""
        asked = re.fullmatch(r"(\w+)(?:\.|->)(?:size\((\d+)\)|numel\(\))", name)
        made = self._extents_made(asked[1], place) if asked else None
        if asked and asked[2] is None and made is None and (function := self._program.function_at(place)) is not None:
            made = list(_sizes_asked(asked[1], self._body(function))), function.end - 1
        if asked is None or made is None or not made[0]:
            return None
        extents, where = made
        if asked[2] is None:
            return Taken(" * ".join(f"({one})" for one in extents), where)
        return Taken(extents[int(asked[2])], where) if int(asked[2]) < len(extents) else None

    def _body(self, function: HostFunction) -> str:
        return self._code[function.start : function.end]


@lru_cache(maxsize=4096)
def _sizes_asked(tensor: str, body: str) -> tuple[str, ...]:
    """What the body of a function calls the extents of a tensor, where it asks for all of them; else nothing."""
    if viewed := extents_written_out(tensor, body):
        return viewed
    asked = re.compile(rf"\b{re.escape(tensor)}\s*\.\s*size\s*\(\s*(\d)\s*\)")
    called = re.findall(rf"\b(\w+)\s*=\s*{asked.pattern}\s*[,;]", body)
    found = {int(number): "" for number in asked.findall(body)} | {int(number): name for name, number in called}
    if len(found) < 2 or sorted(found) != list(range(len(found))):
        return ()
    return tuple(found[at] or f"{tensor}.size({at})" for at in sorted(found))


def _asserted_extents(program: HostProgram) -> dict[tuple[HostFunction | None, str], Taken]:
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


def _extents_in(made: re.Match[str]) -> list[str]:
    """The extents of a tensor where it is made of some, or of one without braces."""
    return split_list(made["list"] or made["extent"])
