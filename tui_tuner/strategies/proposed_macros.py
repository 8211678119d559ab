"""Macros of a build that a model states: a name that the kernel's text leaves open, with one number or one word."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from tui_tuner.problem.model import Language
from tui_tuner.problem.syntax import code_only
from tui_tuner.problem.tunables import why_no_tunable

_VALUE = re.compile(
    r"-?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][-+]?[0-9]{1,3})?)[uUlLfF]{0,3}"
    r"|[A-Za-z_][A-Za-z0-9_]{0,63}"
)
"""What becomes one word of a command line, and can be no path and no further option."""
_OF_TYPE = r"\b(?:auto|bool|char|double|float|int|long|short|unsigned|void|\w+_t|[a-z]+\d)[\s*&]+"


def faults_of_macros(
    macros: Sequence[tuple[str, str]], taken: Mapping[str, Collection[str]], source: str, language: Language
) -> Iterator[str]:
    """What is wrong with macros, in words for the model.

    Args:
        macros: a name and a value each.
        taken: names that are something else, by what they are.
        source: the text of the kernel's file.
    """
    code = code_only(source)
    names = [name for name, _ in macros]
    for name, value in macros:
        found = (what for what, others in taken.items() if name in others)
        why = why_no_tunable(name, language) or _why_not_open(name, code)
        if why:
            yield f"macros: {why}"
        elif what := next(found, ""):
            yield f"macros: '{name}' is {what}"
        elif names.count(name) > 1:
            yield f"macros: '{name}' is listed twice"
        elif _VALUE.fullmatch(value) is None:
            yield f"macros: the value of '{name}' is neither one number nor one name"


def _why_not_open(name: str, code: str) -> str | None:
    """Why the build has no such macro to state; None where the code uses the name and does not say what it is."""
    called = "" if name.isupper() else r"(?!\s*\()"  # functions of the language have small letters
    if re.search(rf"\b{name}\b{called}|\bdefined\s*\(?\s*{name}\b", code) is None:
        return f"the kernel's file has no '{name}' that a macro could stand for"
    if re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b|{_OF_TYPE}{name}\b", code, re.MULTILINE):
        return f"the kernel's file itself says what '{name}' is"
    return None
