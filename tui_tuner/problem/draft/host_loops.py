"""What loops of the host make of a name: a count raised until it is enough, a number that goes on step by step.

And how many elements are appended to a list, where no loop or condition says otherwise.
"""

from __future__ import annotations

import re

from tui_tuner.problem.syntax import closing


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
        rf"(?:\+\+\s*{plain}|--\s*{plain}|{plain}\s*(?:\+\+|--|[-+]=(?P<by>[^;{{}}()]*)))\s*\)"
    )
    for found in reversed(list(head.finditer(code, 0, place))):
        body = re.compile(r"\s*\{").match(code, found.end())
        end = closing(code, body.end() - 1, "{}") if body else code.find(";", place)
        if body is None and re.search(r"[;}]", code[found.end() : place]):
            continue
        if place < end:
            first, last, by = f"({found['first'].strip()})", f"({found['last'].strip()})", (found["by"] or "1").strip()
            return f"({first} + {last}) / 2" if by == "1" else f"{first} + ({last} - {first}) / (2 * ({by})) * ({by})"
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
