"""What a kernel leaves to the order in which its threads come: no two launches of it need agree in that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import closing

_INDEX = r"\[(?P<at>(?:[^][;=]|\[[^][;=]*\])*)\]"
_NO_MEMBER = r"(?<!\.)(?<!->)"
_WON = re.compile(r"\bif\s*\((?=[^;{]*\batomic(?:CAS|Exch)\s*\()")


class InAnyOrder(NamedTuple):
    """An array whose content depends on which thread comes first, how, and where the kernel's text says so."""

    array: str
    how: str
    place: int


def in_any_order(signature: KernelSignature) -> InAnyOrder | None:
    """The first such array that the kernel writes; None where none is known."""
    ways = (_appended(signature), _won(signature), _probed(signature))
    return next((found for way in ways for found in way), None)


def said_where(signature: KernelSignature) -> set[str]:
    """Arrays of whole numbers that say where elements of others are written: no two threads may have the same one.

    Where all threads write the same, as the next level of a search, they may.
    """
    body = signature.body
    read = [one for one in signature.parameters if one.is_array and one.const and one.width == 1]
    arrays = [one.name for one in read if "int" in (one.dtype or "") and "int8" not in (one.dtype or "")]  # no pixels
    indices = [where["at"] for _, where in _written(signature) if not _is_same_for_all(where, signature)]
    return {name for name in arrays if name and any(_said_by(name, index, body) for index in indices)}


def _said_by(array: str, index: str, body: str) -> bool:
    """Whether an index is made of an array's elements, or of names that are made of them."""
    waiting, seen = [index], set[str]()
    while waiting:
        text = waiting.pop()
        if re.search(rf"\b{re.escape(array)}\s*\[", text):
            return True
        new = {*re.findall(rf"{_NO_MEMBER}\b[A-Za-z_]\w*", text)} - seen
        seen |= new
        waiting += [said for name in new for said in re.findall(rf"{_NO_MEMBER}\b{name}\s*=(?!=)([^;]*);", body)]
    return False


def _appended(signature: KernelSignature) -> Iterator[InAnyOrder]:
    """Arrays whose next free element each thread asks for: `at = atomicAdd(count, 1); found[at] = mine;`."""
    for name, where in _written(signature):
        if _is_next(where, signature.body):
            yield InAnyOrder(name, "holds what threads append in the order in which they come", where.start())


def _is_next(where: re.Match[str], body: str) -> bool:
    """Whether an element is written at what a counter says, and that says nothing else, as which work is next."""
    counted = r"\batomic(?:Add|Inc|Sub|Dec)\s*\("
    at = where["at"].strip()
    if re.match(counted, at):
        return True
    if not (at.isidentifier() and re.search(rf"\b{at}\s*=\s*{counted}", body)):
        return False
    used = rf"\b{at}\b(?!\s*(?:=(?!=)|[<>]))"
    return not re.search(used, body[: where.start()]) and not re.search(used, body[where.end() :])


def _won(signature: KernelSignature) -> Iterator[InAnyOrder]:
    """Arrays that only the thread writes which is first at an element, what is its own."""
    body = signature.body
    for found in _WON.finditer(body):
        start = closing(body, body.index("(", found.start()))
        is_block = body[start:].lstrip().startswith("{")
        end = closing(body, body.index("{", start)) if is_block else body.find(";", start)
        for name, where in _written(signature, start, end):
            if not _is_same_for_all(where, signature):
                yield InAnyOrder(name, "keeps what the thread writes that comes first", where.start())


def _is_same_for_all(where: re.Match[str], signature: KernelSignature) -> bool:
    """Whether what is written there is made of numbers and of what the kernel is passed by value alone."""
    value = signature.body[where.end() : signature.body.find(";", where.end())]
    passed = {one.name for one in signature.parameters if not one.pointer}
    return set(re.findall(r"\b[A-Za-z_]\w*", value)) <= passed


def _probed(signature: KernelSignature) -> Iterator[InAnyOrder]:
    """Tables in which each thread looks for a free element, one after another."""
    body, arrays = signature.body, [one.name for one in signature.parameters if one.is_array]
    for found in re.finditer(r"\batomicCAS\s*\(\s*&?\s*(\w+)\s*\[\s*(\w+)\s*\]", body):
        moved = rf"\b{found[2]}\s*=(?!=)[^;]*\b{found[2]}\b|\+\+\s*{found[2]}\b|\b{found[2]}\s*(?:\+\+|\+=)"
        in_loop = re.search(r"\b(?:while|for|do)\b", body[: found.start()])
        if in_loop and re.search(moved, body[found.end() :]) and found[1] in arrays:
            how = "is a table in which each thread takes the next element that is free"
            yield InAnyOrder(found[1], how, found.start())


def _written(signature: KernelSignature, start: int = 0, end: int | None = None) -> Iterator[tuple[str, re.Match[str]]]:
    """Where elements of arrays are set, in the text of the kernel between two places."""
    body = signature.body
    for one in signature.parameters:
        if one.is_array and one.name:
            plain = re.compile(rf"\b{re.escape(one.name)}\s*{_INDEX}(?:\s*\.\s*\w+)?\s*=(?!=)")
            yield from ((one.name, found) for found in plain.finditer(body, start, len(body) if end is None else end))
