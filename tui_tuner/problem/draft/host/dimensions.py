"""What the host writes of a grid, a block or a vector, axis by axis."""

from __future__ import annotations

import re

from tui_tuner.problem.draft.host.makers import named
from tui_tuner.problem.draft.host.members import listed
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import NOTHING_YET, begins_loop, is_summed
from tui_tuner.problem.syntax import enclosed, split_list

_MOST_STEPS = 12


def axes(program: HostProgram, text: str, place: int) -> tuple[list[str], int]:
    """What a `dim3` or a number says of each axis, and where that stands."""
    for _ in range(_MOST_STEPS):
        direct = re.fullmatch(r"(?:dim3\s*[({]|\{)(.*)[)}]", text.strip(), re.DOTALL)
        given = split_list(direct[1]) if direct else []
        if len(given) == 1 and given[0].isidentifier():  # a copy of another grid, or a number
            text = given[0]
            continue
        if direct:
            return given, place
        if not re.fullmatch(r"\w+", text.strip()):
            break
        handed = program.handed_back(text.strip(), program.begin_of(place), place)
        made = None if handed else _dim3(program, text.strip(), place)
        if made is not None:
            return made
        meaning = program.meaning(text.strip(), place)
        if meaning is None or not re.match(r"dim3\b|\w+\s*$", meaning[0]) or meaning[0].strip().isdecimal():
            break
        text, place = meaning
    return [text.strip()], place


def element(program: HostProgram, name: str, place: int) -> tuple[str, int] | None:
    """What an element of a vector, or an array, is that the host sets as a whole, or by the names of its axes.

    Of an array that a function is given it is that element of what a caller passes. Of numbers that a loop goes through
    it is the last: the others are how a host comes to the size that counts.
    """
    indexed = re.fullmatch(r"(.+)\[([\w+-]+)\]", name)
    index = None if indexed is None else program.number(indexed[2], place)
    if indexed is None or index is None or index < 0:
        return None
    whole = indexed[1]
    meaning = program.meaning(whole, place)
    values, there = _values_of(program, whole, place) if meaning is None else (listed(meaning[0]), meaning[1])
    given = split_list(values or "")
    counted_by = program.meaning(indexed[2], place)
    if counted_by is not None and begins_loop(program.code, counted_by[1]) and all(map(str.isdecimal, given)):
        index = max(index, len(given) - 1)
    if index < len(given) and not NOTHING_YET.fullmatch(given[index]):
        return given[index], there
    if meaning is not None and (other := named(meaning[0])).isidentifier() and meaning[1] != place:
        return f"{other}[{index}]", meaning[1]
    return program.meaning(f"{whole}.{'xyzw'[index]}", place) if index < len("xyzw") else None


def counted(program: HostProgram, name: str, place: int) -> str:
    """An element's name with the number that its index comes to, if that can be told."""
    listed_as, _, index = name.removesuffix("]").rpartition("[")
    number = program.number(index, place)
    return name if number is None else f"{listed_as}[{number}]"


def set_in_list(program: HostProgram, name: str, place: int) -> tuple[str, int] | None:
    """What the elements of a list were last set to before a place, as in `sizes[i] = n`, by a name for which."""
    start = program.begin_of(place)
    found = list(
        re.compile(rf"(?<![\w.>]){re.escape(name)}\s*\[\s*[A-Za-z_]\w*\s*\]\s*=(?!=)([^;]*);").finditer(
            program.code, start, place
        )
    )
    is_sum = found and is_summed(program.code, found[-1][1], start, place)
    return (found[-1][1].strip(), found[-1].start()) if found and not is_sum else None


def _values_of(program: HostProgram, name: str, place: int) -> tuple[str, int]:
    """What stands in the braces that an array or a vector is declared with, and where."""
    function = program.function_at(place)
    declared = re.compile(rf"(?<=[\w>&])\s+{re.escape(name)}\s*(?:\[[^\]]*\]\s*)?(?:=\s*)?(?=\{{)")
    own = () if function is None else declared.finditer(program.code, function.body, place)
    outside = (one for one in declared.finditer(program.code) if program.function_at(one.start()) is None)
    found = [*own][-1:] or [*outside][:1]
    if not found:
        return "", place
    opening = found[0].end()
    return enclosed(program.code, opening), found[0].start()


def _dim3(program: HostProgram, name: str, place: int) -> tuple[list[str], int] | None:
    """The parentheses behind a name that is declared as a `dim3`."""
    start = program.begin_of(place)
    made = re.compile(rf"\bdim3\b[^;]*?\b{name}\s*(?:=\s*(?:dim3)?\s*)?[({{]")
    bare = re.compile(rf"\bdim3\s+(?:\w+\s*,\s*)*{name}\s*[,;]")
    found = list(made.finditer(program.code, start, place)) or list(bare.finditer(program.code, start, place))
    if not found:
        return None
    opening = there = found[-1].end() - 1
    inside = enclosed(program.code, opening)
    axes = split_list(inside) if program.code[opening] in "({" else ["1"]
    for one in re.compile(rf"\b{name}\s*\.\s*([xyz])\s*=(?!=)([^;]*);").finditer(program.code, opening, place):
        if not program.is_arithmetic(one[2]) and "xyz".index(one[1]) < len(axes):
            continue  # what comes from outside is said only where nothing else is
        axes += ["1"] * ("xyz".index(one[1]) + 1 - len(axes))
        axes["xyz".index(one[1])], there = one[2].strip(), one.start()
    return axes, there
