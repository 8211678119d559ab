"""Numbers of scalars by which a kernel tells cases apart, as `switch (act * 10 + grad) { case 31: ... }`."""

from __future__ import annotations

import re

from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import enclosed

_SWITCH = re.compile(
    r"\bswitch\s*\(\s*(?P<first>[A-Za-z_]\w*)\s*(?:\*\s*(?P<times>[1-9]\d*)\s*\+\s*(?P<last>[A-Za-z_]\w*)\s*)?\)\s*(?=\{)"
)
_CASE = re.compile(r"\bcase\s+(?P<number>\d+)\s*:")


def numbers_of_cases(signature: KernelSignature) -> dict[str, int]:
    """What whole scalars have to be for the case of which the kernel's text says most; none where it asks for none."""
    scalars = {one.name for one in signature.parameters if not one.is_array and "int" in (one.dtype or "")}
    found: dict[str, int] = {}
    for one in _SWITCH.finditer(signature.body):
        if not {one["first"], one["last"] or one["first"]} <= scalars:
            continue
        _, *parts = _CASE.split(enclosed(signature.body, one.end()))
        cases = dict(zip(map(int, parts[::2]), parts[1::2], strict=True))
        number = max(cases, key=lambda case: len(cases[case].strip()), default=None)
        if number is not None and one["last"]:
            found[one["first"]], found[one["last"]] = divmod(number, int(one["times"]))
        elif number is not None:
            found[one["first"]] = number
    return found
