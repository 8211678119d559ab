"""What the host makes the members of a structure of: in braces, or by `make_float2` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tui_tuner.problem.by_value import VIEW, VIEW_MEMBERS
from tui_tuner.problem.signature import KernelParameter
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import enclosed, name_in, split_list, unwrapped

_VECTOR = r"[a-z]+[1-4]|cu\w*Complex"
_LISTED = re.compile(rf"(?:[\w:]+\s*(?:<[^<>{{}}]*>)?\s*)?\{{(.*)\}}|make_(?:{_VECTOR})\s*\((.*)\)", re.DOTALL)
_DESIGNATED = re.compile(r"\.\s*([A-Za-z_]\w*)\s*(?:=\s*|(?=\{))(.+)", re.DOTALL)


def declared_default(structure: str, member: str, code: str) -> str | None:
    """What a structure's own declaration sets a member to, as in `int width = 640;`."""
    for declared in re.finditer(rf"\bstruct\s+{re.escape(structure)}\b[^;{{}}()]*\{{", code):
        body = enclosed(code, declared.end() - 1)
        found = re.search(rf"\b{re.escape(member)}\s*(?:=(?!=)\s*([^;,]+)|\{{([^{{}};]+)\}})\s*[;,]", body)
        if found is not None:
            return (found[1] or found[2]).strip()
    return None


class HostMembers:
    """Reads the members that host code lists.

    Args:
        code: the host's, without comments and directives.
        headers: that may declare structures too.
    """

    def __init__(self, code: str, headers: Sequence[str]) -> None:
        self._code = code
        self._codes = (code, *headers)

    def made_of(self, variable: str, path: Sequence[str], start: int, end: int) -> tuple[str, str, int] | None:
        """The type of a variable, or of a member of it, what was last listed for it, and where."""
        target = r"\s*(?:\.|->)\s*".join(map(re.escape, (variable, *path)))
        head = rf"(?<![\w.>]){target}\s*=\s*" if path else rf"\b(?P<type>\w+)(?:\s*<[^<>;{{}}]*>)?\s+{target}\s*=?\s*"
        listed = rf"(?:(?P<made>\w+)\s*(?:<[^<>;{{}}]*>\s*)?)?\{{|make_(?P<vector>{_VECTOR})\s*\("
        found = list(re.compile(rf"{head}(?:{listed})").finditer(self._code, start, end))
        if not found:
            return None
        last = found[-1]
        values = enclosed(self._code, last.end() - 1)
        named = last["vector"] or last["made"]
        return named or (self._type_of(variable, path, start, end) if path else last["type"]), values, last.start()

    def passed(self, given: Sequence[str], parameters: Sequence[KernelParameter]) -> Iterator[str]:
        """What a launch passes for each parameter and each array behind one; nothing where it is of another version."""
        own = [one for one in parameters if not one.behind]
        by_name = {one.name: (text, one) for text, one in zip(given, own, strict=False)}
        for parameter in parameters if len(given) == len(own) else ():
            structure, _, path = parameter.behind.partition(".")
            text, whole = by_name[structure or parameter.name]
            yield self.of_passed(text, whole, path) if path else text

    def of_passed(self, given: str, structure: KernelParameter, path: str) -> str:
        """What a member is of a structure that a launch passes as this text."""
        whole = re.sub(r"^\s*\*\s*|^\s*\(\s*[A-Za-z_][\w:<>, ]*\)\s*(?=\w)|^\s*\w+\s*\{\s*(\w+)\s*\}\s*$", r"\1", given)
        kind = re.findall(r"\w+", structure.type_text.partition("<")[0])[-1]
        if listed(whole) is None and not re.fullmatch(rf"(?:\w+\s*::\s*)*{kind}\s*(?:<[^<>]*>)?\s*\(.*\)", whole):
            return f"{whole}.{path}"
        kind = VIEW if whole.startswith(VIEW) else kind  # by whatever name the kernel has it
        return self.in_place(whole, path.split("."), kind) or "0"

    def scalars(
        self, given: Sequence[str], parameters: Sequence[KernelParameter]
    ) -> Iterator[tuple[str, str | None, str]]:
        """Name, dtype and text of each scalar that is passed, and of each member of a structure, as in "p.width"."""
        for parameter, passed in zip(parameters, given, strict=False):
            if parameter.members is not None and not parameter.pointer:
                for member in (one for one in parameter.members if not one.pointee):
                    names = elements_of(member.name, member.count)
                    texts = _texts_of(self.of_passed(passed, parameter, member.name), member.count)
                    for name, text in zip(names, texts, strict=True):
                        yield f"{parameter.name}.{name}", member.dtype, text
            elif not parameter.pointer:
                yield parameter.name, parameter.dtype, passed

    def in_place(self, text: str, path: Sequence[str], kind: str = "") -> str | None:
        """A member of the object that text makes, as `Range{0, n}` or `Range(0, n)`; None where it makes none."""
        made = re.match(r"\s*(?:\w+\s*::\s*)*(\w+)\s*(?:<[^<>]*>\s*)?[{(]", text)
        kind, values = kind or (made[1] if made else ""), listed(text)
        if values is not None:
            return self.picked(kind, values, path)
        given = split_list(text[made.end() : text.rfind(")")]) if made else []
        for code in self._codes if kind and given else ():
            for one in re.finditer(rf"\b{kind}\s*\(([^(){{}};]*)\)\s*:\s*([^{{;]*)\{{", code):
                names = [name_in(each) for each in split_list(one[1])]
                set_to = re.search(rf"\b{path[0]}\s*[({{]([^(){{}}]*)[)}}]", one[2])
                if set_to is not None and len(names) == len(given) and len(path) == 1:
                    return put_in(set_to[1], dict(zip(names, given, strict=True)))
        return None

    def picked(self, kind: str, values: str, path: Sequence[str]) -> str | None:
        """What stands for a member, or one of a structure within it, among the values listed for a type."""
        text: str | None = None
        for position, name in enumerate(path):
            types = self._types(kind)
            given = _in_order(split_list(values), types)
            if name not in types and "" in types and given:  # of what it is derived of, which comes first
                return self.picked(types[""], listed(given[0]) or "", path[position:])
            place = [*types].index(name) if name in types else len(given)
            if place >= len(given):
                return None
            text, kind = given[place], types[name]
            inside = listed(text)
            if inside is None and position + 1 < len(path):
                return None
            values = inside or ""
        return text

    def default(self, variable: str, path: Sequence[str], start: int, end: int) -> str | None:
        """What a structure's own declaration sets a member of a variable to, as in `int width = 640;`."""
        kind = self._type_of(variable, path[:-1], start, end)
        return next(filter(None, (declared_default(kind or "?", path[-1], code) for code in self._codes)), None)

    def declared(self, variable: str, path: Sequence[str]) -> tuple[str, int] | None:
        """What a member is set to where its variable is declared, and where that is."""
        for depth in reversed(range(len(path))):
            made = self.made_of(variable, path[:depth], 0, len(self._code))
            picked = None if made is None else self.picked(made[0], made[1], path[depth:])
            if made is not None and picked is not None:
                return picked, made[2]
        default = self.default(variable, path, 0, len(self._code))
        return None if default is None else (default, self.place_of(variable) or 0)

    def place_of(self, variable: str) -> int | None:
        """Where a variable stands behind its type, as in `static Config all;`."""
        found = re.search(rf"\w\s+{re.escape(variable)}\s*(?:=(?!=)|[;{{])", self._code)
        return None if found is None else found.start() + 1

    def _type_of(self, variable: str, path: Sequence[str], start: int, end: int) -> str:
        declared = re.compile(rf"\b(\w+)(?:\s*<[^<>;{{}}]*>)?\s+(?:\w+\s*,\s*)*{re.escape(variable)}\s*[;,={{(]")
        found = list(declared.finditer(self._code, start, end))
        kind = found[-1][1] if found else ""
        for name in path:
            kind = self._types(kind).get(name, "")
        return kind

    def _types(self, structure: str) -> dict[str, str]:
        """The types of a structure's members by name, in order; of a vector's they are empty."""
        if structure == VIEW:
            return dict.fromkeys(VIEW_MEMBERS, "")
        if vector := re.fullmatch(r"[a-z]+([234])", structure):
            return dict.fromkeys("xyzw"[: int(vector[1])], "")
        known = next((one for code in self._codes if (one := structures(code).get(structure))), None)
        return {one.name: re.findall(r"\w+", one.type_text.partition("<")[0])[-1] for one in known or ()}


def _in_order(given: list[str], names: Iterable[str]) -> list[str]:
    """Values as they stand for members; of those that say their member, as `.n = 4`, 0 for any that is not said."""
    said = {one[1]: one[2] for text in given if (one := _DESIGNATED.fullmatch(text))}
    return [said.get(name, "0") for name in names] if said else given


def put_in(text: str, meant: Mapping[str, str]) -> str:
    """Text with what its names stand for, and `size.x` where that is `make_uint3(...)`."""

    def of_vector(found: re.Match[str]) -> str:
        made = re.fullmatch(rf"make_(?:{_VECTOR})\s*\((.*)\)", unwrapped(meant.get(found[1], "")), re.DOTALL)
        given = split_list(made[1])["xyzw".index(found[2]) :] if made else []
        return f"({given[0]})" if given else found[0]

    words = re.split(r"(\b[A-Za-z_]\w*)", re.sub(r"(?<![\w.>])([A-Za-z_]\w*)\.([xyzw])\b", of_vector, text))
    put = {name: text if (text := unwrapped(said)).isidentifier() else f"({text})" for name, said in meant.items()}
    return "".join(put.get(one, one) for one in words)


def listed(text: str) -> str | None:
    """What stands in the braces that text is, or in the parentheses behind `make_float2`; None where it is neither."""
    found = _LISTED.fullmatch(text.strip())
    return None if found is None else found[1] or found[2] or ""


def _texts_of(text: str, count: int | None) -> list[str]:
    """What is passed for a member, or for each element of an array; 0 for those that a list says nothing of."""
    values = listed(text)
    if count is None or values is None:
        return elements_of(text, count)
    return [*split_list(values), *["0"] * count][:count]


def elements_of(name: str, count: int | None) -> list[str]:
    """A member by itself, or each element of an array."""
    return [name] if count is None else [f"{name}[{index}]" for index in range(count)]
