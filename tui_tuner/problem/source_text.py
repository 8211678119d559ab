"""Kernel source as text: what is code and what is comment, which identifiers occur, macros taken out."""

from __future__ import annotations

import re
from collections.abc import Collection

from tui_tuner.problem.model import Language
from tui_tuner.problem.reserved import keywords

_QUOTED = r'"(?:\\.|[^"\\\n])*"|' + r"(?<!\d)'(?:\\.|[^'\\\n])*'"  # behind a digit it separates, as in 1'000
_STRING = r'R"(?P<tag>[^()\\\s]{0,16})\([\s\S]*?\)(?P=tag)"|' + _QUOTED
_BLOCK_COMMENT = r"/\*[\s\S]*?(?:\*/|\Z)"
_COMMENT = rf"{_BLOCK_COMMENT}|//(?:\\\r?\n|[^\n])*"
_TOKENS = re.compile(rf"(?P<comment>{_COMMENT})|(?P<string>{_STRING})")
_DIRECTIVE = rf"^[ \t]*\#[ \t]*(?:define|undef)[ \t]+(?P<name>\w+)(?:{_COMMENT}|{_QUOTED}|\\[ \t]*\r?\n|[^\n])*"
_TOKENS_AND_DEFINITIONS = re.compile(rf"{_TOKENS.pattern}|(?P<definition>{_DIRECTIVE})", re.MULTILINE)
_NOT_A_USE = re.compile(r"^[ \t]*#[ \t]*(?:define|undef|ifdef|ifndef)[ \t]+\w+", re.MULTILINE)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def spaces(text: str) -> str:
    """Spaces of the same length; the ends of the lines stay."""
    return re.sub(r"[^\n]", " ", text)


def code_only(source: str) -> str:
    """The source with comments and the content of strings blanked; every offset stays as it was."""
    return _TOKENS.sub(_blank, source)


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return spaces(text) if match["comment"] else text[0] + spaces(text[1:-1]) + text[-1]


def identifiers(source: str, language: Language) -> frozenset[str]:
    """The identifiers that code or macro bodies use; a macro's own definition or guard is no use of it."""
    code = _NOT_A_USE.sub("", code_only(source))
    return frozenset(_WORD.findall(code)) - keywords(language)


def strip_definitions(source: str, names: Collection[str]) -> str:
    """The source without `#define` and `#undef` of these names; blank lines keep the line numbers."""

    def replace(match: re.Match[str]) -> str:
        if match["definition"] is None or match["name"] not in names:
            return match.group()
        return "\n" * match.group().count("\n")

    return _TOKENS_AND_DEFINITIONS.sub(replace, source)
