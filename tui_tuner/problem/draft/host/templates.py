"""What the templates of host code are given: functions by their calls, classes where they are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tui_tuner.problem.c_types import alias_in, dtype_of, member_type
from tui_tuner.problem.draft.host.functions import HostFunction, function_at
from tui_tuner.problem.draft.host.members import put_in
from tui_tuner.problem.structures import enumerated, enumerators, spaced, structures, template_of
from tui_tuner.problem.syntax import closing, list_at, name_in, split_list, unwrapped

_MOST_STEPS, _MOST_CHARACTERS = 12, 400
_DISPATCHED = "scalar_t"
"""What PyTorch's macros call the type that they choose when the program runs."""
OPEN_TYPE = "float"
"""What a type is taken for that a template leaves open."""
_CLASS_TEMPLATE = re.compile(r"\btemplate\s*<(?P<parameters>[^<>{}]*)>\s*(?:class|struct)\s+(?P<name>\w+)\b[^;{}()]*\{")
_CONSTANTS = re.compile(r"\bconst(?:expr)?\s[\w\s:]*?\b(\w+\s*=(?!=)[^;]*);")
"""What a statement of a class declares."""


_SWITCH = re.compile(r"\bswitch\s*\(\s*\(?(?P<on>\w+)[^{}]*\)\s*\{\s*case\s+(?P<number>[\w:]+)\s*:")
"""The first case of a macro that chooses among templates, as `switch (D) { case 64: { constexpr int kDim = 64; ...`."""
_CASE = re.compile(
    r"\bconst(?:expr)?\s+(?:static\s+)?(?:const\s+)?(?:unsigned\s+)?\w+\s+(\w+)\s*=\s*(\d+|true|false|[A-Z]\w*)\s*;"
)


def switched(macros: Mapping[str, tuple[str | None, str]], code: str) -> dict[str, str]:
    """What names stand for in the first case of macros that choose among templates, and what these switch on.

    Args:
        macros: parameters and text by name.
        code: where they are used, without directives.
    """
    found: dict[str, str] = {}
    for name, (parameters, text) in macros.items():
        switch = _SWITCH.search(text) if parameters else None
        if switch is None or parameters is None or not (cases := _CASE.findall(text, switch.end())):
            continue
        for constant, number in cases:
            found.setdefault(constant, number)
        listed = split_list(unwrapped(parameters))
        position = listed.index(switch["on"]) if switch["on"] in listed else len(listed)
        for use in re.finditer(rf"\b{name}\s*(?=\()", code) if switch["number"].isdecimal() else ():
            given = list_at(code, use.end())
            if position < len(given) and given[position].strip().isidentifier():
                found[given[position].strip()] = switch["number"]
    return found


class HostTemplates:
    """Reads what templates are given.

    Args:
        code: the host's, without comments and directives.
        functions: those of the code.
        number: the whole number that text at a place comes to, if it is one.
        switched: the enumerators that names stand for in the first case of macros that choose.
    """

    def __init__(
        self,
        code: str,
        functions: Sequence[HostFunction],
        number: Callable[[str, int], int | None],
        switched: Mapping[str, str],
    ) -> None:
        self._code = code
        self._functions = functions
        self._number = number
        self._switched = switched

    def argument(self, text: str, place: int) -> str:
        """A type, enumerator, function, or number as the host has it; of a type that its own leaves open a guess.

        Empty for what is none of these.
        """
        text = self._type_meant(unwrapped(text), place)  # as a macro has it that was put in
        text = self._switched.get(text, text)
        plain = re.sub(r"^(un)?signed(?=\w)", r"\g<0> ", text)
        known = [[*self._switched.values()], *enumerators(self._code).values(), [one.name for one in self._functions]]
        if text in ("true", "false") or dtype_of(plain, "cuda", {})[0] is not None or self._is_class(text):
            return spaced(plain, self._code)
        if any(text in names for names in known):
            return spaced(plain, self._code)
        is_open = text == _DISPATCHED or re.search(rf"\b(?:typename|class)\s+{re.escape(text)}\s*[,>]", self._code)
        number, given = self._number(text, place), self.given(text, place)
        if given is not None:
            return self.argument(*given) or (OPEN_TYPE if is_open else "")
        if (alias := alias_in(self._code, text)) is not None and self._is_class(alias):
            return spaced(alias, self._code)
        return str(number) if number is not None else OPEN_TYPE if is_open else ""

    def _is_class(self, text: str) -> bool:
        return text.partition("<")[0].rpartition("::")[2] in structures(self._code)

    def _type_meant(self, name: str, place: int) -> str:
        """What a function's own name for a type stands for, where it is one of a specialised class template."""
        function = function_at(self._functions, place)
        alias = alias_in(self._code[function.body : place], name) if function and name.isidentifier() else None
        of_class = re.fullmatch(r"(?:typename\s+)?(?:\w+\s*::\s*)*(\w+)\s*<([^<>]*)>\s*::\s*(\w+)", alias or "")
        if of_class is None:
            return name
        given = ",".join(self.argument(one, place) for one in split_list(of_class[2]))
        return member_type(self._code, of_class[1], given, of_class[3]) or name

    def given(self, name: str, place: int) -> tuple[str, int] | None:
        """What the last call of a function template gives one of its parameters by name, else what is its default.

        Of a function of a class template also what the class is given where an object is declared.
        """
        function = function_at(self._functions, place)
        parameters = [] if function is None else self._parameters(function)
        position = next((at for at, one in enumerate(parameters) if name_in(one) == name), None)
        if function is None or position is None:
            return self._given_to_class(name, place)
        calls = list(re.finditer(rf"\b{re.escape(function.name)}\s*<([^<>;]*)>\s*\(", self._code))
        given = split_list(calls[-1][1]) if calls else []
        if position < len(given):
            return given[position], calls[-1].start()
        default = parameters[position].partition("=")[2].strip()
        return (default, function.start) if default else None

    def _given_to_class(self, name: str, place: int) -> tuple[str, int] | None:
        for declared in _CLASS_TEMPLATE.finditer(self._code, 0, place):
            names = [name_in(one) for one in split_list(declared["parameters"])]
            if name not in names or place >= closing(self._code, declared.end() - 1):
                continue
            objects = re.finditer(rf"\b{declared['name']}\s*<([^<>;]*)>\s+\w+\s*[;({{=]", self._code)
            given = [(split_list(one[1]), one.start()) for one in objects]
            if given and names.index(name) < len(given[-1][0]):
                return given[-1][0][names.index(name)], given[-1][1]
        return None

    def _parameters(self, function: HostFunction) -> list[str]:
        listed = re.search(r"\btemplate\s*<([^<>{}]*)>[^;{}<>]*$", self._code[: function.start])
        return [] if listed is None else split_list(listed[1])

    def names_of(self, function: HostFunction) -> list[str]:
        """The parameters of a function's template; none where it is no template."""
        return [name_in(one) for one in self._parameters(function)]

    def type_given(self, name: str, place: int) -> str:
        """The type that a function template is called with for one of its parameters; any other name as it is."""
        for _ in range(_MOST_STEPS):
            given = self.given(name, place)
            if given is None:
                break
            name, place = "_".join(re.findall(r"\w+", given[0])), given[1]
        return self._type_meant(name, place)

    def constant(self, name: str, place: int) -> tuple[str, int] | None:
        """What a class says of a constant, as TILE in `Config::TILE`, in the words of who names the class."""
        kind, _, member = name.rpartition("::")
        for _ in range(_MOST_STEPS):
            given = self.given(kind, place)
            alias = None if given else alias_in(self._code, kind.rpartition("::")[2])
            if given is None and alias is None:
                break
            kind, place = given or (alias or "", place)
        structure, _, listed = kind.partition("<")
        structure = structure.rpartition("::")[2].strip()
        declared = re.search(rf"\b(?:struct|class)\s+{re.escape(structure)}\b[^;{{}}()]*\{{", self._code)
        if declared is None:
            return None
        body = self._code[declared.end() - 1 : closing(self._code, declared.end() - 1)]
        declared_in = (one.partition("=") for found in _CONSTANTS.findall(body) for one in split_list(found))
        constants = enumerated(body) | {name.strip(): text.strip() for name, _, text in declared_in}
        text = constants.get(member)
        for _ in range(_MOST_STEPS if text else 0):
            text = put_in(text or "", constants) if len(text or "") < _MOST_CHARACTERS else text
        meant = dict(zip(template_of(structure, self._code), split_list(listed[:-1]), strict=False))
        return None if text is None else (put_in(text, meant), place)
