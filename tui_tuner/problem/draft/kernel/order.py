"""What a kernel leaves to the order in which its threads come: no two launches of it need agree in that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import closing, split_list

_INDEX = r"\[(?P<at>(?:[^][;=]|\[[^][;=]*\])*)\]"
_NO_MEMBER = r"(?<!\.)(?<!->)"
_COUNTED = r"\batomic(?:Add|Inc|Sub|Dec)\s*\("
_APPENDED = "holds what threads append in the order in which they come"
_WON = re.compile(r"\bif\s*\((?=[^;{]*\batomic(?:CAS|Exch)\s*\()")


class InAnyOrder(NamedTuple):
    """An array whose content depends on which thread comes first, how, and where the kernel's text says so."""

    array: str
    how: str
    place: int


class Appended(NamedTuple):
    """An array that threads append to, and the one that counts how many elements are there already."""

    array: str
    counter: str


def in_any_order(signature: KernelSignature) -> InAnyOrder | None:
    """The first such array that the kernel writes; None where none is known."""
    return next(_in_any_order(signature), None)


def _in_any_order(signature: KernelSignature) -> Iterator[InAnyOrder]:
    for way in (_appended, _won, _probed):
        yield from way(signature)


def appended(signature: KernelSignature) -> Appended | None:
    """The array of numbers that threads append to, where nothing else depends on the order in which they come.

    What is appended to two arrays belongs together, which is not to be seen of each for itself.
    """
    arrays = {one.name: one for one in signature.parameters if one.is_array}
    found = {(one.array, one.how) for one in _in_any_order(signature)}
    if len(found) != 1 or {how for _, how in found} != {_APPENDED}:
        return None
    name = next(name for name, _ in found)
    counters = {_counter(where, signature.body) for array, where in _written(signature) if array == name}
    counter = counters.pop() if len(counters) == 1 else None
    is_plain = arrays[name].members is None and arrays[name].width == 1
    return Appended(name, counter) if is_plain and counter in arrays else None


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
        told = [said for name in new for said in re.findall(rf"{_NO_MEMBER}\b{name}\s*=(?!=)([^;]*);", body)]
        waiting += [first for said in told for first in split_list(said)[:1]]
    return False


def _appended(signature: KernelSignature) -> Iterator[InAnyOrder]:
    """Arrays whose next free element each thread asks for: `at = atomicAdd(count, 1); found[at] = mine;`."""
    for name, where in _written(signature):
        if _is_next(where, signature.body):
            yield InAnyOrder(name, _APPENDED, where.start())


def _counter(where: re.Match[str], body: str) -> str | None:
    """What counts the elements where one is written at what that says."""
    at = where["at"].strip()
    said = re.search(rf"\b{at}\s*=\s*({_COUNTED}[^;]*)", body) if at.isidentifier() else None
    found = re.match(rf"{_COUNTED}\s*(?:&\s*)?(\w+)", said[1] if said else at)
    return found[1] if found else None


def _is_next(where: re.Match[str], body: str) -> bool:
    """Whether an element is written at what a counter says, and that says nothing else, as which work is next."""
    at = where["at"].strip()
    if re.match(_COUNTED, at):
        return True
    if not (at.isidentifier() and re.search(rf"\b{at}\s*=\s*{_COUNTED}", body)):
        return False
    used = rf"\b{at}\b(?!\s*(?:=(?!=)|[<>]))"
    elsewhere = re.sub(rf"\[\s*{at}\s*\]\s*=(?!=)", "", body)  # where other arrays are appended to as well
    return not re.search(used, elsewhere)


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
