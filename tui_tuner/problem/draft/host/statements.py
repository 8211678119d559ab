"""What statements of the host make of a name: an assignment, and loops that raise, halve, go through or append."""

from __future__ import annotations

import re
from collections.abc import Callable

from tui_tuner.problem.draft.arithmetic.worked_out import as_size
from tui_tuner.problem.syntax import closing, split_list

Meaning = Callable[[str, int], tuple[str, int] | None]
"""What a name was last set to before a place, and where."""
CONSTANT = re.compile(
    r"\b(?:static\s+|inline\s+)*(?:const|constexpr)\s+(?:static\s+)?(?P<type>[\w\s]*?\w)\s+(?P<name>\w+)"
    r"\s*=\s*(?P<text>[^;{}=]+);"
)
"""A constant outside of functions, with its value."""
NOTHING_YET = re.compile(r"\s*(?:-\s*1|0(?:\.0*)?f?)\s*")
"""What a variable is declared with that is set to something from outside later, as by an option."""
_GROWN = re.compile(r"\b(\w+)\s*\.\s*(?:push_back|emplace_back|insert|resize|assign)\s*\(")
_LENGTH = re.compile(
    r"\b(?P<name>\w+)\s*=(?!=)\s*(?:\([\w\s]+\)\s*|static_cast\s*<[\w\s:]+>\s*\(\s*)?"
    r"(?P<asked>[\w.]+\.size\s*\(\s*\))"
)
_LOOK_BACK = 80
_HALVED = r"\s*(?:>>=\s*1|/=\s*2|=\s*{0}\s*(?:>>\s*1|/\s*2))\s*"
_RAISED = r"(?:\+\+\s*{0}|{0}\s*(?:\+\+|\+=\s*1))\s*"


def spelled(name: str) -> str:
    """A pattern for a name, in which a member may be one of what a pointer leads to."""
    return re.escape(name).replace(r"\.", r"(?:\.|->)")


def assignments(name: str) -> re.Pattern[str]:
    """Where a name is set, with what stands behind it up to the end of the statement.

    Not what the head of a loop sets it to for the next turn, as in `for (int k = 1; k < 9; k = k + 2)`.
    """
    plain = spelled(name)
    return re.compile(rf"(?<![\w.>]){plain}\s*=(?!=|\s*{plain}\s*[-+*/]\s*\w+\s*\))(?P<text>[^;]*)")


def copied(code: str, name: str, start: int, end: int) -> tuple[str, int] | None:
    """The variable whose bytes another becomes between two places, as by `memcpy(&to, &from, sizeof(to))`."""
    found = list(re.compile(rf"\bmemcpy\s*\(\s*&\s*{re.escape(name)}\s*,\s*&\s*(\w+)\s*,").finditer(code, start, end))
    return (found[-1][1], found[-1].start()) if found else None


def is_limit(code: str, name: str, assigned: re.Match[str]) -> bool:
    """Whether a name is only kept to a limit, as in `if (blocks > most) blocks = most;`."""
    before = code[code.rfind(";", 0, assigned.start()) + 1 : assigned.start()]
    limit = re.escape(assigned["text"].strip())
    return re.search(rf"\bif\s*\(\s*{re.escape(name)}\s*[<>]=?\s*{limit}\s*\)\s*\{{?\s*$", before) is not None


def changed(code: str, name: str, text: str, start: int, end: int) -> tuple[str, int] | None:
    """What a number has become by `+=` and the like behind it, each once, as it is in the first turn of a loop."""
    by = re.compile(rf"(?<![\w.>]){re.escape(name)}\s*(?P<by>[-+*/])=(?!=)(?P<text>[^;{{}}]*);")
    found = by.finditer(code, start, end)
    steps = [one for one in found if one["text"].count("(") == one["text"].count(")")]  # others are heads of loops
    for one in steps:
        text = f"({text}) {one['by']} ({one['text']})"
    return (text, steps[-1].start()) if steps else None


def begins_loop(code: str, place: int) -> bool:
    """Whether what is set at a place is set in the head of a `for`, as what it begins with."""
    return re.search(r"\bfor\s*\([^;()]*$", code[max(0, place - _LOOK_BACK) : place]) is not None


def first_item(text: str) -> str:
    """What an assignment sets, without the declarators behind it and others that are set to the same."""
    return re.sub(r"^(?:\s*\w+(?:(?:\[\w+\])?(?:\.|->)\w+)*\s*=(?!=))+", "", next(iter(split_list(text)), ""))


def raised(code: str, name: str, start: int, end: int) -> str | None:
    """The count at which a `while` between two places stops to raise a name, as in `while (n * 256 < all) n++`.

    Where it is doubled each time, the least count that is enough is meant.
    """
    plain = re.escape(name)
    loop = re.compile(
        rf"\bwhile\s*\((?P<below>[^;<>]*\b{plain}\b[^;<>]*)(?P<mark><=?)(?P<most>[^;{{}}]*)\)\s*\{{?\s*"
        rf"(?:\+\+\s*{plain}|{plain}\s*(?:\+\+|\+=\s*1|\*=\s*2|<<=\s*1))\s*;"
    )
    found = list(loop.finditer(code, start, end))
    if not found or re.search(rf"\b{plain}\b", found[-1]["most"]):
        return None
    each = re.sub(rf"\b{plain}\b", "1", found[-1]["below"]).strip()
    most = found[-1]["most"].strip() + (" + 1" if found[-1]["mark"] == "<=" else "")
    return f"(({most}) + ({each}) - 1) / ({each})"


def halfway(code: str, name: str, place: int) -> str | None:
    """The number halfway through the `for` around a place that goes up or down by steps of one size.

    The first number often leaves a kernel next to nothing to do, as the first diagonal of a matrix.
    """
    plain = re.escape(name)
    head = re.compile(
        rf"\bfor\s*\(\s*(?:[\w:]+\s+)*{plain}\s*=(?P<first>[^;]*);\s*{plain}\s*[<>]=?(?P<last>[^;]*);\s*"
        rf"(?:\+\+\s*{plain}|--\s*{plain}|{plain}\s*(?:\+\+|--|(?:[-+]=|=\s*{plain}\s*[-+])(?P<by>[^;{{}}()]*)))\s*\)"
    )
    for found in reversed(list(head.finditer(code, 0, place))):
        body = re.compile(r"\s*\{").match(code, found.end())
        end = closing(code, body.end() - 1) if body else code.find(";", place)
        if body is None and re.search(r"[;}]", re.sub(r"\([^()]*\)", "", code[found.end() : place])):
            continue
        if place < end:
            first, last, by = f"({found['first'].strip()})", f"({found['last'].strip()})", (found["by"] or "1").strip()
            if first == "(0)":
                return f"{last} / 2" if by == "1" else f"{last} / (2 * ({by})) * ({by})"
            return f"({first} + {last}) / 2" if by == "1" else f"{first} + ({last} - {first}) / (2 * ({by})) * ({by})"
    return None


def halved(code: str, meaning: Meaning, name: str, start: int, end: int) -> tuple[str, int] | None:
    """What a loop between two places halves until it is 1, while it counts with a name, and where that is said.

    As n for bits, of `for (int t = n; t > 1; t >>= 1) bits++;`.
    """
    raised = _RAISED.format(re.escape(name))
    headed = (
        rf"\bfor\s*\([\w\s]*?\b(?P<t>\w+)\s*=(?P<size>[^;]*);\s*(?P=t)\s*>\s*1\s*;\s*(?P=t){_HALVED.format('(?P=t)')}\)"
    )
    for one in re.compile(rf"{headed}\s*\{{?\s*{raised};").finditer(code, start, end):
        return one["size"].strip(), one.start()
    steps = (rf"{raised};\s*(?P=t){_HALVED.format('(?P=t)')};", rf"(?P=t){_HALVED.format('(?P=t)')};\s*{raised};")
    asked = r"\bwhile\s*\(\s*(?P<t>\w+)\s*>\s*1\s*\)\s*\{\s*"
    for step in steps:
        for one in re.compile(asked + step).finditer(code, start, end):
            return meaning(one["t"], one.start())
    return None


def appended(code: str, name: str, start: int, end: int) -> int | None:
    """How many elements are appended to a list between two places, each by itself; None where a loop may do so."""
    plain = re.escape(name)
    depth, found = 0, 0
    steps = re.compile(rf"[{{}}]|(?P<head>[^;{{}}]*)\b{plain}\s*\.\s*(?:push_back|emplace_back)\s*\(")
    for step in steps.finditer(code, start, end):
        if step["head"] is None:
            depth += {"{": 1, "}": -1}[step.group()]
        elif depth or step["head"].strip():
            return None
        else:
            found += 1
    changed = re.compile(rf"\b{plain}\s*(?:\.\s*(?:resize|assign|insert|pop_back|clear|swap)\b|=(?!=))").search(
        code, start, end
    )
    return found if found and not changed else None


def lists_grown(code: str) -> list[str]:
    """The lists that the host makes longer than they are declared."""
    return _GROWN.findall(code)


def length_named(code: str, size: str) -> str | None:
    """What the host calls the length of a list that is a size of this name, as n of `n = a.rows.size();`."""
    return next((one["name"] for one in _LENGTH.finditer(code) if as_size(one["asked"]) == size), None)


def is_summed(code: str, text: str, start: int, end: int) -> bool:
    """Whether a name in a text is changed by what it was between two places, as a sum of all elements before is."""
    summed = "|".join(re.findall(r"[A-Za-z_]\w*", text)) or "(?!)"
    return re.compile(rf"\b(?:{summed})\s*[-+*]=").search(code, start, end) is not None


def is_read_or_counted(code: str, name: str) -> bool:
    """Whether a name is read from outside, as by `scanf` or from a stream, or counted up, but not by a loop's head."""
    plain = rf"(?<![\w.>]){re.escape(name)}"
    read = rf"scanf\s*\([^;]*&\s*{plain}\b|>>\s*{plain}\s*(?:>>|;)"
    counted = rf"{plain}\s*\+\+\s*;|\+\+\s*{plain}\s*;|{plain}\s*\+=(?:[^;()]|\([^;()]*\))*;"
    return re.search(f"{read}|{counted}", code) is not None
