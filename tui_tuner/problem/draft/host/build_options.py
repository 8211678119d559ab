"""The options that the host builds a kernel with, of OpenCL wherever it writes them: macros, and how to compile."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.syntax import code_only, list_at

_LITERAL = r'"(?:[^"\\\n]|\\.)*"'
_MACRO = re.compile(r"(?:^|(?<=\s))-D\s*(?P<name>[A-Za-z_]\w*)(?:=(?P<value>\S*))?")
_FLAG = re.compile(r"(?:^|(?<=\s))-cl-[\w.=-]+(?=\s|$)")
_CONVERSION = re.compile(r"%[-+0-9.]*(?:hh|h|ll|l|z|j|t)?[diufgxs]")
_NUMBER = re.compile(r"[-+]?[\d.][\w.+-]*")
CPP_20 = "-std=c++20"
_OF_CPP_20 = re.compile(r"\bconcept\s+\w+\s*=|\brequires\s*[\w(:]|\bconst(?:eval|init)\s+\w|<=>")
_OF_BLOCKS = re.compile(r"block|tile|group|wg|local|thread", re.IGNORECASE)
"""Names of macros that make the block where they are the same number."""


@dataclass(frozen=True)
class BuildMacro:
    """A macro of the options.

    Attributes:
        text: what the host writes for it, a name or a number.
        value: what the compiler is told.
    """

    name: str
    text: str
    value: str

    @property
    def number(self) -> ast.expr | None:
        """The value, where it is a whole number."""
        return ast.Constant(int(self.value)) if self.value.isdecimal() else None

    def stands_for(self, text: str) -> bool:
        """Whether the kernel is built with this as what the host calls so, or with the same number of threads."""
        is_same = self.text == text != self.name
        return is_same and (text.isidentifier() or _OF_BLOCKS.search(self.name) is not None)


def build_macros(program: HostProgram, source: str) -> dict[str, BuildMacro]:
    """The macros that the host builds a kernel with, of those that its source names; the first of each name."""
    words = frozenset(re.findall(r"\w+", code_only(source)))
    found: dict[str, BuildMacro] = {}
    for text, place, behind in _literals(program):
        conversions = [one.start() for one in _CONVERSION.finditer(text)]
        for one in _MACRO.finditer(text):
            if one["name"] in words and (macro := _macro(program, one, conversions, behind, place)) is not None:
                found.setdefault(one["name"], macro)
    return found


@dataclass(frozen=True)
class BuildOptions:
    """What the host builds a kernel with: macros by name, and how to compile, as by `-cl-fast-relaxed-math`.

    Attributes:
        supposed: macros that no host is known to define, and without which the source has no kernel.
        proposed: macros that somebody who read the kernel proposes, since nothing states them.
    """

    macros: Mapping[str, BuildMacro] = field(default_factory=dict)
    flags: Sequence[str] = ()
    supposed: frozenset[str] = frozenset()
    proposed: frozenset[str] = frozenset()

    def with_supposed(self, names: Collection[str]) -> BuildOptions:
        """These, and macros that nobody defines."""
        supposed = frozenset(names) - self.macros.keys()
        macros = {**self.macros, **{name: BuildMacro(name, "", "") for name in sorted(supposed)}}
        return replace(self, macros=macros, supposed=supposed)

    def with_proposed(self, values: Mapping[str, str]) -> BuildOptions:
        """These, and macros of such values where there is none of their name."""
        added = {name: BuildMacro(name, text, text) for name, text in values.items() if name not in self.macros}
        return replace(self, macros={**self.macros, **added}, proposed=frozenset(added))

    def without(self, tunables: Collection[str]) -> list[str]:
        """The options for a compiler, but for macros that are tunables."""
        given = [one for one in self.macros.values() if one.name not in tunables]
        return [*(f"-D{one.name}{f'={one.value}' if one.value else ''}" for one in given), *self.flags]


def standard_needed(code: str) -> list[str]:
    """The option for the C++ that code is written in, where that is newer than what compilers take it for."""
    return [CPP_20] if _OF_CPP_20.search(code) else []


def build_options(source: str, host: str) -> BuildOptions:
    """The options that the host of a kernel's source has."""
    program = HostProgram(code_only(source) + "\n" + code_only(host), text=source + "\n" + host)
    flags = (flag for text, *_ in _literals(program) for flag in _FLAG.findall(text))
    return BuildOptions(build_macros(program, source), list(dict.fromkeys(flags)))


def options_of_scripts(options: Sequence[str]) -> BuildOptions:
    """The options that scripts give compilers of CUDA or C, one a text."""
    macros = [found for one in options if (found := _MACRO.fullmatch(one))]
    values = {one["name"]: one["value"] or "" for one in macros}
    flags = [one for one in options if not one.startswith("-D")]
    return BuildOptions({name: BuildMacro(name, value, value) for name, value in values.items()}, flags)


def _literals(program: HostProgram) -> Iterator[tuple[str, int, str]]:
    """Each text of the host that has options in it, where it stands, and the rest of its statement."""
    for one in re.finditer(rf"{_LITERAL}(?:\s*{_LITERAL})*", program.text):
        text = "".join(part[1:-1] for part in re.findall(_LITERAL, one[0]))
        if program.code[one.start()] == '"' and re.search(r"(?:^|\s)-(?:D|cl-)", text):
            end = program.code.find(";", one.end())
            yield text, one.start(), program.code[one.end() : end if end >= 0 else len(program.code)]


def _macro(
    program: HostProgram, found: re.Match[str], conversions: list[int], behind: str, place: int
) -> BuildMacro | None:
    """A macro with the number that it has there; None where that is not known."""
    name, value = found["name"], found["value"]
    if value is None:
        return BuildMacro(name, "", "")
    text = value
    if "%" in value:  # of the arguments behind a format
        given = list_at("(" + behind, 0)
        position = sum(place < found.start("value") for place in conversions)
        text = given[position] if position < len(given) else ""
    elif not value:  # made of parts, as by `+` or `<<`
        part = re.match(r"\s*(?:\+|<<)\s*(?:(?:std\s*::\s*)?to_string\s*\()?\s*([\w.]+)", behind)
        text = part[1] if part else ""
    if _NUMBER.fullmatch(text) or (text == value and "%" not in text and text):
        return BuildMacro(name, text, text)
    number = program.number(text, place) if text else None
    return None if number is None else BuildMacro(name, text, str(number))
