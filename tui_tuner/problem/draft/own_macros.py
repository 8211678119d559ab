"""The macros of a source that it has for builds to set: `#ifndef TILE` and a number behind it."""

from __future__ import annotations

import re

from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import code_only
from tui_tuner.problem.tunables import why_no_tunable

_DEFAULT = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[ \t]*\n[ \t]*#[ \t]*define[ \t]+\1[ \t]+\(?(\d{1,6})\)?[ \t]*$", re.MULTILINE
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_ASKED = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[ \t]+([^\n]*)", re.MULTILINE)
_FACTORS = (4, 2)


def macros_for_builds(source: str, signature: KernelSignature, language: Language) -> dict[str, list[int]]:
    """Macros that the code uses, each with values to try around the source's own, which is the first of them.

    One that says how long an array is that the kernel is given is none.
    """
    code = code_only(source)
    used = {*re.findall(r"\w+", " ".join([_DIRECTIVE.sub("", code), *_ASKED.findall(code)]))}
    taken = {signature.name, *(one.name for one in signature.parameters)}
    taken |= {word for one in signature.parameters for word in re.findall(r"\w+", one.type_text)}
    found = {name: int(number) for name, number in _DEFAULT.findall(code) if name in used - taken}
    return {name: _values(own) for name, own in found.items() if why_no_tunable(name, language) is None}


def _values(own: int) -> list[int]:
    """A number of the source, and others: a switch is on or off, anything else is halved and doubled."""
    if own == 0:
        return [0, 1]
    return list(
        dict.fromkeys([own, *(own // by for by in _FACTORS if own >= by), *(own * by for by in _FACTORS[::-1])])
    )
