"""Numbers that loops of the host count how often a size can be halved with: the exponents of powers of two."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from tui_tuner.problem.draft.host_program import HostProgram

_HALVED = r"\s*(?:>>=\s*1|/=\s*2|=\s*{0}\s*(?:>>\s*1|/\s*2))\s*"
_RAISED = r"(?:\+\+\s*{0}|{0}\s*(?:\+\+|\+=\s*1))\s*"


def exponents(
    program: HostProgram,
    scalars: Iterable[tuple[str, str | None, str]],
    place: int,
    chain: Callable[[str, int], Iterator[str]],
) -> tuple[dict[str, str], dict[str, int]]:
    """The exponents among what a kernel is given, by the name of the size from outside that is two to their power.

    As bits is by n, of `for (int t = n; t > 1; t >>= 1) bits++;`. Then those of numbers of the host, by their names.

    Args:
        scalars: name, dtype and text of each.
        chain: a name at a place, and the names that it stands for.
    """
    found: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for _, _, name in scalars:
        function = program.function_at(place) if name.isidentifier() else None
        counted = None if function is None else _counted(program, name, function.body, place)
        number = None if counted is None else program.number(*counted)
        if number is not None and number > 0:
            numbers[name] = number.bit_length() - 1
        elif counted is not None:
            found |= dict.fromkeys([*chain(*counted)][-1:], name)
    return found, numbers


def _counted(program: HostProgram, name: str, start: int, end: int) -> tuple[str, int] | None:
    """What a loop between two places halves until it is 1, while it counts with a name, and where that is said."""
    raised = _RAISED.format(re.escape(name))
    headed = (
        rf"\bfor\s*\([\w\s]*?\b(?P<t>\w+)\s*=(?P<size>[^;]*);\s*(?P=t)\s*>\s*1\s*;\s*(?P=t){_HALVED.format('(?P=t)')}\)"
    )
    for one in re.compile(rf"{headed}\s*\{{?\s*{raised};").finditer(program.code, start, end):
        return one["size"].strip(), one.start()
    steps = (rf"{raised};\s*(?P=t){_HALVED.format('(?P=t)')};", rf"(?P=t){_HALVED.format('(?P=t)')};\s*{raised};")
    asked = r"\bwhile\s*\(\s*(?P<t>\w+)\s*>\s*1\s*\)\s*\{\s*"
    for step in steps:
        for one in re.compile(asked + step).finditer(program.code, start, end):
            return program.meaning(one["t"], one.start())
    return None
