"""The launches of a kernel in the host code around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.syntax import closing, list_at, split_list, unwrapped

_TEMPLATE = r"<(?:[^<>]|<[^<>]*>)*>"
"""Arguments of a template, among them those of another."""
_IN_HIP = re.compile(r"\bhip(?=(?:Malloc|Memcpy|Memset|Free|Device|Get|Occupancy|Launch(?:Cooperative)?Kernel\b)\w*)")
_HIP_LAUNCH = re.compile(r"\bhipLaunchKernelGGL\s*\(")
_HIP_TEMPLATE = re.compile(r"^HIP_KERNEL_NAME\s*(?=\()")


@dataclass(frozen=True)
class HostLaunch:
    """One launch of a kernel, as the host writes it.

    Attributes:
        place: where it stands in the code.
        line: the same, counted from 1.
        template: the template arguments, as in "<16>"; empty where there are none.
        shared: dynamic shared memory, bytes; "0" where none is asked for.
        arguments: what is passed.
        chosen: where the host chooses among launches, the names that have to be numbers for this one, and these.
    """

    place: int
    line: int
    template: str
    grid: str
    block: str
    shared: str
    arguments: tuple[str, ...]
    chosen: tuple[tuple[str, str], ...] = ()


def launches(program: HostProgram, kernel: str) -> Iterator[HostLaunch]:
    """The launches of a kernel, by its name or a pointer that is set to it, in the order of the file.

    Those of macros come after the others.
    """
    code = program.code
    pointers = _pointers_to(kernel, program)
    called = "|".join(map(re.escape, [kernel, *pointers]))
    launch = re.compile(rf"\b({called})\s*({_TEMPLATE})?\s*\)?\s*<\s?<\s?<(.*?)>\s?>\s?>\s*\(", re.DOTALL)
    yield from _launches_by_a_call(code, rf"\b(?:{called})\b")
    for text, place in ((code, None), *program.uses_of_macros("<<<")):
        for found in launch.finditer(text):
            there = found.start() if place is None else place
            pointed = _pointed_at(found[1], there, pointers, program)
            if pointed is None:
                continue
            given = split_list(found[3])
            template = re.match(_TEMPLATE, found[2] or pointed)
            arguments = tuple(list_at(text, found.end() - 1))
            yield _launch(code, there, template, given, arguments)


def _pointers_to(kernel: str, program: HostProgram) -> dict[str, list[tuple[int, str]]]:
    """The pointers that are set to a kernel, by a function that chooses it too: where, and to which of its template."""
    found: dict[str, list[tuple[int, str]]] = {}
    named = rf"&?\s*{re.escape(kernel)}\s*(?P<template>{_TEMPLATE})?\s*"
    for one in re.finditer(rf"\b(\w+)\s*\)?\s*(?:\([^()]*\)\s*)?=\s*{named}[;,]", program.code):
        found.setdefault(one[1], []).append((one.start(), one["template"] or ""))
    for function in program.functions:
        chosen = re.compile(rf"\breturn\s*{named};").search(program.code, function.body, function.end)
        if chosen is None:
            continue
        for one in re.finditer(rf"\b(\w+)\s*=\s*{re.escape(function.name)}\s*\(", program.code):
            found.setdefault(one[1], []).append((one.start(), chosen["template"] or ""))
    return found


def _pointed_at(
    name: str, place: int, pointers: Mapping[str, Sequence[tuple[int, str]]], program: HostProgram
) -> str | None:
    """The template's arguments of the kernel that a name stands for at a place; None where it is another's there."""
    if name not in pointers:
        return ""
    function = program.function_at(place)
    own = [template for where, template in pointers[name] if program.function_at(where) == function]
    if own:
        return own[0]
    is_set = function and re.compile(rf"\b{name}\s*=(?!=)").search(program.code, function.body, function.end)
    return None if is_set else pointers[name][0][1]


def is_chosen(launch: HostLaunch, program: HostProgram) -> bool:
    """Whether the host makes this launch, as far as its numbers say."""
    pairs = [[program.number(one, launch.place) for one in pair] for pair in launch.chosen]
    return all(one == other for one, other in pairs if None not in (one, other))


def _launch(
    code: str, place: int, template: re.Match[str] | None, given: Sequence[str], arguments: tuple[str, ...]
) -> HostLaunch:
    """A launch of a grid, a block and dynamic shared memory, as far as they are given."""
    grid, block, shared, *_ = map(unwrapped, [*given, *("1", "1", "0")[len(given) :]])
    said = template.group().replace(" ", "") if template else ""
    line = code.count("\n", 0, place) + 1
    return HostLaunch(place, line, said, grid, block, shared, arguments, tuple(_chosen(code, place)))


def _chosen(code: str, place: int) -> Iterator[tuple[str, str]]:
    """The comparisons and cases that a place of the code is under, the innermost first."""
    inside = code[code.rfind("\n}", 0, place) + 1 : place]
    while inside:
        head = inside[max(inside.rfind(mark) for mark in ";{}") + 1 :]
        yield from re.findall(r"\bif\s*\(\s*([\w.]+)\s*==\s*(\w+)\s*\)", head)
        opening, depth = len(inside), 0
        while opening and depth <= 0:
            opening -= 1
            depth += {"{": 1, "}": -1}.get(inside[opening], 0)
        switch = re.search(r"\bswitch\s*\(+\s*([\w.]+)\s*\)+\s*$", inside[:opening])
        cases = re.findall(r"\bcase\s+(\w+)\s*:", inside[opening:])
        if switch and cases:
            yield switch[1], cases[-1]
        inside = inside[:opening]


def _launches_by_a_call(code: str, kernel: str) -> Iterator[HostLaunch]:
    """Launches by `cudaLaunchKernel`, whose arguments stand in an array of their addresses."""
    for call in re.finditer(r"\bcudaLaunch(?:Cooperative)?Kernel\s*(?:<[^<>;]*>)?\s*\(", code):
        given = list_at(code, call.end() - 1)
        if len(given) < 4 or not re.search(kernel, given[0]):
            continue
        named = re.compile(rf"\b{re.escape(given[3])}\s*\[[^\]]*\]\s*=\s*\{{([^{{}}]*)\}}")
        array = [*named.finditer(code, 0, call.start())]
        addresses = split_list(array[-1][1]) if array else []
        arguments = tuple(re.sub(r"^(?:\([^()]*\)\s*)?&\s*", "", one) for one in addresses)
        template = re.search(r"<[^<>]*>(?=[\s)]*$)", given[0])
        yield _launch(code, call.start(), template, given[1:3] + given[4:5], arguments)


def in_cuda(text: str) -> str:
    """Host code in HIP with the names that CUDA has, each line where it was: it says the same in another way."""
    text = _IN_HIP.sub("cuda", text)
    for found in reversed([*_HIP_LAUNCH.finditer(text)]):
        end = closing(text, found.end() - 1)
        given = list_at(text, found.end() - 1)
        if len(given) < 5:
            continue
        kernel = unwrapped(_HIP_TEMPLATE.sub("", given[0]))
        launch = f"{kernel}<<<{', '.join(given[1:5])}>>>({', '.join(given[5:])})"
        lost = text.count("\n", found.start(), end) - launch.count("\n")
        text = text[: found.start()] + launch + "\n" * lost + text[end:]
    return text
