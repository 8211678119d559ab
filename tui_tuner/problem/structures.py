"""The structures of a source and their members, as far as these are plain data."""

from __future__ import annotations

import re
from typing import NamedTuple

from tui_tuner.problem.syntax import closing, name_in, namespaces_around, split_list

_WORDS = r"(?:[^;{}()=<>:]|::)*"
_HEAD = re.compile(
    rf"(?P<typedef>\btypedef\s+)?(?<!enum )\b(?:struct|class)\b"
    rf"(?P<head>{_WORDS}(?:\([^;{{}}]*\){_WORDS})?(?:(?<!:):(?!:)[^;{{}}()]*)?)\{{"
)
_ENUMERATION = re.compile(
    r"(?P<typedef>\btypedef\s+)?\benum\b\s*(?P<scoped>(?:class|struct)\s+)?(?P<name>\w*)[^;{}()]*\{(?P<body>[^{}]*)\}"
    r"(?(typedef)\s*(?P<alias>\w*))"
)
_BASE = re.compile(r"(?<!:):(?!:)\s*(?:(?:public|private|protected)\s+)?([\w:]+\s*(?:<[^<>]*>)?)\s*$")
_BASES = re.compile(r":.*", re.DOTALL)
_INITIAL = re.compile(r"(?<!operator)(?<![=!<>+*/-])=(?!=)\s*[^;,{}]*(?:\([^;]*\))?")
_ACCESS = re.compile(r"\b(?:public|private|protected)\s*:")
_STARS = r"(?:\*\s*(?:(?:const|volatile|__restrict__|__restrict|restrict)\b\s*)*)*"
_TYPE = re.compile(r"\s*(?P<type>[\w\s:]*[\w:])(?=\s*\*|\s+\w+\s*(?:\[|$))")
_DECLARED = re.compile(rf"\s*(?P<stars>{_STARS})(?P<name>[A-Za-z_]\w*)(?P<extents>(?:\s*\[[^\]]+\])*)\s*")
_ATTRIBUTE = re.compile(r"\b(?:__align__|alignas|__attribute__)\s*\(+[^()]*\)+")


class Member(NamedTuple):
    """A member: its type as written, as in "const float *", its name, and the extents of an array, as written.

    What a structure is derived of is its first member, without a name.
    """

    type_text: str
    name: str
    extents: tuple[str, ...] = ()


def structures(code: str) -> dict[str, list[Member] | None]:
    """The members of each structure of code without comments, by its names; None where they are no plain data."""
    found: dict[str, list[Member] | None] = {}
    for one in _HEAD.finditer(code):
        end = closing(code, one.end() - 1)
        behind = re.match(r"\s*(\w+)\s*;", code[end:]) if one["typedef"] else None
        own = re.findall(r"\w+", _ATTRIBUTE.sub("", _BASES.sub("", one["head"])))[-1:]
        names = [*own, *(behind.groups() if behind else ())]
        base = _BASE.search(one["head"])
        is_plain = base is not None or ":" not in one["head"].replace("::", "")
        members = _members(code[one.end() : end - 1]) if is_plain and not _ATTRIBUTE.search(one["head"]) else None
        if base is not None and members is not None:
            members.insert(0, Member(base[1], ""))
        found |= dict.fromkeys(names, members)
    return found


def enumerators(code: str) -> dict[str, list[str]]:
    """The names that each enumeration of code without comments lists, as they are written outside of it."""
    found: dict[str, list[str]] = {}
    for one in _ENUMERATION.finditer(code):
        names = [text.partition("=")[0].strip() for text in one["body"].split(",")]
        scope = f"{one['name']}::" if one["scoped"] else ""
        called = filter(None, (one["name"], one["alias"]))
        found |= {name: [scope + each for each in names if each.isidentifier()] for name in called}
    return found


def enumerated(code: str) -> dict[str, str]:
    """What the enumerators of plain enumerations are, as text: what is said, or one more than the one before."""
    found: dict[str, str] = {}
    for one in _ENUMERATION.finditer(code):
        said, above = "0", 0
        for text in () if one["scoped"] else split_list(one["body"]):
            name, is_said, number = (part.strip() for part in text.partition("="))
            said, above = (number, 0) if is_said else (said, above)
            found[name], above = (f"{said} + {above}" if above else said), above + 1
    return found


def template_of(structure: str, code: str) -> list[str]:
    """The names of the parameters of a class template; none of a class that is no template."""
    listed = re.search(rf"\btemplate\s*<([^<>{{}}]*)>\s*(?:struct|class)\s+{re.escape(structure)}\b", code)
    return [name_in(one) for one in split_list(listed[1])] if listed else []


def spaced(structure: str, code: str) -> str:
    """A structure's name with the namespaces that it is declared in, where it is written without any."""
    declared = re.search(rf"\b(?:struct|class)\s+{re.escape(structure.partition('<')[0])}\b[^;{{}}()]*\{{", code)
    if declared is None or "::" in structure.partition("<")[0]:
        return structure
    return f"{namespaces_around(declared.start(), code)}{structure}"


def _members(body: str) -> list[Member] | None:
    """What a structure's body declares, but for its functions."""
    body = re.sub(r"\btemplate\s*<[^<>{}]*>", "", body)  # of functions
    if re.search(r"\b(?:union|virtual|struct|class|template)\b", body):
        return None
    while (shorter := re.sub(r"\{[^{}]*\}", ";", body)) != body:
        body = shorter
    body = _ACCESS.sub("", _INITIAL.sub("", body))
    members: list[Member] = []
    for line in body.split(";"):
        words = " ".join(line.split())
        is_method = "(" in re.sub(r"\[[^][]*\]|\(\s*\*\s*\w+\s*\)", "", words)
        if not words or is_method or words.startswith(("static", "using", "typedef", "friend")):
            continue
        first, *more = words.split(",")
        kind = _TYPE.match(first)
        for text in (first[kind.end() :] if kind else "", *more):
            one = _DECLARED.fullmatch(text)
            if kind is None or one is None:
                return None
            pointed = f"{kind['type']} {' '.join('*' * one['stars'].count('*'))}".strip()
            members.append(Member(pointed, one["name"], tuple(re.findall(r"\[\s*([^\]]+?)\s*\]", one["extents"]))))
    return members
