"""The branches of a source that a build with given macros leaves out."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tui_tuner.problem.syntax import code_only, spaces

_CONDITION = re.compile(
    r"^[ \t]*#[ \t]*(?P<word>ifdef|ifndef|if|elif|else|endif|define|undef)\b(?P<rest>(?:\\\r?\n|[^\n])*)", re.MULTILINE
)
_ASKED = re.compile(r"(?P<not>!?)\s*defined\s*\(?\s*(?P<name>\w+)\s*\)?")
_WANTED = re.compile(r"[\s(]*(?:defined\s*\(?\s*)?(?P<name>[A-Za-z_]\w*)[\s)]*")
_OF_COMPILERS = re.compile(r"_.*|kernel_tuner|CL_.*|cl_.*|FP_.*|NDEBUG|WIN32")
"""Names that compilers, and builds here, may define."""


@dataclass
class _Conditional:
    """An `#if` that is open: whether its present branch is left in, and an earlier one was; None where nobody knows."""

    around: bool
    holds: bool | None
    before: bool | None = False

    @property
    def is_out(self) -> bool:
        return not self.around or self.holds is False

    def next(self, holds: bool | None) -> None:
        """Go on to another branch, which is left in under this condition if none before it is."""
        known = (self.before, self.holds)
        self.before = True if True in known else None if None in known else False
        self.holds = False if self.before else None if self.before is None else holds


def active_source(source: str, defined: Collection[str]) -> str:
    """The source without branches that a build with these macros leaves out, line for line.

    A name that neither these nor the source define is none, but for those of compilers: where these count, all stay.
    """
    code, known = code_only(source), set(defined)
    is_open: list[_Conditional] = []
    kept, place = [], 0
    for one in _CONDITION.finditer(code):
        is_out = bool(is_open) and is_open[-1].is_out
        kept.append(spaces(source[place : one.start()]) if is_out else source[place : one.start()])
        word, rest = one["word"], one["rest"].strip()
        is_left_out = is_out and word in ("define", "undef")  # the others stay, so that each has its end
        kept.append(spaces(source[one.start() : one.end()]) if is_left_out else source[one.start() : one.end()])
        place = one.end()
        if word in ("if", "ifdef", "ifndef"):
            is_open.append(_Conditional(not is_out, _holds(word, rest, known)))
        elif word == "endif" and is_open:
            is_open.pop()
        elif word in ("elif", "else") and is_open:
            is_open[-1].next(True if word == "else" else _holds("if", rest, known))
        elif word in ("define", "undef") and not is_out and (name := re.match(r"\w+", rest)):
            (known.add if word == "define" else known.discard)(name[0])
    return "".join([*kept, source[place:]])


def asked_around(source: str, line: int) -> frozenset[str]:
    """The macros that a build has to define for what stands in a line: none that the source, or a compiler, does."""
    lines = code_only(source).splitlines(keepends=True)
    is_open, known = list[frozenset[str]](), set[str]()
    for one in _CONDITION.finditer("".join(lines[: line - 1])):
        word, rest = one["word"], one["rest"].strip()
        if word in ("if", "ifdef", "ifndef"):
            is_open.append(_wanted(word, rest))
        elif word == "endif" and is_open:
            is_open.pop()
        elif word in ("elif", "else") and is_open:
            is_open[-1] = _wanted(word, rest)
        elif word == "define" and (name := re.match(r"\w+", rest)):
            known.add(name[0])
    return frozenset[str]().union(*is_open) - known


def _wanted(word: str, condition: str) -> frozenset[str]:
    """What has to be defined for a condition to hold, as of `defined(GPU) && WITH_CUDA`; of alternatives the first."""
    parts = condition.partition("||")[0].split("&&") if word in ("if", "ifdef", "elif") else []
    named = (_WANTED.fullmatch(one) for one in parts)
    return frozenset(one["name"] for one in named if one and not _OF_COMPILERS.fullmatch(one["name"]))


def active_headers(headers: Sequence[str], code: str) -> list[str]:
    """The headers of code as it builds them: macros that neither it nor the header defines choose no branch.

    Of sizes that an `#ifdef` chooses among, as `#ifdef LARGE`, the one that is built stays.
    """
    stated = _defined(code)
    return [active_source(text, stated - _defined(text)) for text in headers]


def _defined(source: str) -> set[str]:
    found = (re.match(r"\w+", one["rest"].strip()) for one in _CONDITION.finditer(source) if one["word"] == "define")
    return {one[0] for one in found if one}


def _holds(word: str, condition: str, known: Collection[str]) -> bool | None:
    """Whether a condition holds; None for one that asks for more, or for what compilers define."""
    if condition in ("0", "1") and word == "if":
        return condition == "1"
    asked = re.fullmatch(r"(?P<not>)(?P<name>\w+)", condition) if word != "if" else _ASKED.fullmatch(condition)
    if asked is None or (asked["name"] not in known and _OF_COMPILERS.fullmatch(asked["name"])):
        return None
    return (asked["name"] in known) != (word == "ifndef" or bool(asked["not"]))
